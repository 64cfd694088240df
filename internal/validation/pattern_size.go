package validation

import "regexp/syntax"

const (
	// maxPatternLength is the length of patterns that PatternSize parses.
	maxPatternLength = 32 << 10
	// maxRepetitions is how often package regexp repeats a part of a pattern at most.
	maxRepetitions = 1000
	// runesPerInstruction is the number of the runes of a character class that take as much memory as an instruction.
	runesPerInstruction = 10
)

// PatternSize returns approximately the number of instructions of a compiled pattern, 0 for one that cannot be
// compiled. An instruction takes 40 bytes, and a repetition repeats those of its operand: "(a{100}){10}" has a
// thousand.
func PatternSize(pattern string) int {
	if pattern == "" {
		return 0
	}
	if len(pattern) > maxPatternLength {
		return len(pattern) * maxRepetitions
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return instructions(parsed)
}

func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		if re.Max < 0 { // there is no maximum
			return (re.Min + 1) * n
		}
		return re.Max * n
	}
	return 1 + n + len(re.Rune)/runesPerInstruction
}
