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
// thousand. The runes of a large character class count as instructions too: "\p{L}" has 1,300. The instructions of a
// repetition share them, except in a pattern that begins with "^", for which package regexp may keep a second form.
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
	instructions, runes := programSize(parsed, beginsText(parsed))
	return instructions + runes/runesPerInstruction
}

// programSize returns the number of instructions of a compiled expression, and of the runes of its character classes.
func programSize(re *syntax.Regexp, copied bool) (instructions, runes int) {
	for _, sub := range re.Sub {
		n, r := programSize(sub, copied)
		instructions, runes = instructions+n, runes+r
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), 0
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 { // there is no maximum
			times = re.Min + 1
		}
		if copied {
			runes *= times
		}
		return times*instructions + times - re.Min, runes
	}
	return 1 + instructions, runes + len(re.Rune)
}

// beginsText reports whether an expression begins with "^".
func beginsText(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return len(re.Sub) > 0 && beginsText(re.Sub[0])
	}
	return false
}
