package validation

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxPlainMatch bounds the work of a match that nothing interrupts: less than a millisecond.
	maxPlainMatch = 1 << 16
	// maxMatching bounds the work of all longer matches of a validation: about half a second.
	maxMatching = 50_000_000
	// minMatching is the work that may be done for each of these matches nevertheless: many patterns read little.
	minMatching = 1 << 12
	// matchPerCheck is the work between two looks at the context: less than a millisecond.
	matchPerCheck = 1 << 16
)

// pattern is a compiled pattern. The work of a match is the number of characters that it reads times the size: for each
// character, package regexp visits all live states.
type pattern struct {
	*regexp.Regexp
	size int
}

func compilePattern(expression string) (*pattern, error) {
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return &pattern{compiled, max(1, PatternSize(expression))}, nil
}

// plain reports whether a match takes little work, so that it need not be interrupted.
func (p *pattern) plain(text string) bool { return len(text)*p.size <= maxPlainMatch }

// matching counts the work of the long matches of one validation. See docs/upstream.md, "Patterns are matched to their
// end".
type matching struct {
	left int
	// refusals counts the matches for which too little work was left. refused has their strings, one for each path.
	refusals int
	refused  []refusal
	// answers are of long matches. The search for errors asks once for every value around a string.
	answers map[question]verdict
}

// refusal is a string at a path that takes too long to match with a pattern.
type refusal struct{ path, pattern, text string }

// question is whether a string matches a pattern.
type question struct{ pattern, text string }

func newMatching() *matching { return &matching{left: maxMatching, answers: map[question]verdict{}} }

// match matches a string. The verdict is unknown if the context is done or too little work is left.
func (m *matching) match(ctx context.Context, p *pattern, text string) verdict {
	asked := question{p.String(), text}
	if found, ok := m.answers[asked]; ok {
		return found
	}
	reader := &boundedReader{Reader: strings.NewReader(text), ctx: ctx, size: p.size, left: max(m.left, minMatching)}
	found := verdictOf(p.MatchReader(reader))
	m.left = max(0, min(m.left, reader.left))
	if reader.stopped {
		found = unknown
		if reader.left >= 0 { // the context is done
			return unknown
		}
	}
	m.answers[asked] = found
	return found
}

// boundedReader reads runes until its context is done or no work is left.
type boundedReader struct {
	*strings.Reader
	ctx context.Context
	// size is the work of a rune, left how much may be done, and unseen how much was done since the last look at ctx.
	size, left, unseen int
	stopped            bool
}

// ReadRune implements io.RuneReader.
func (r *boundedReader) ReadRune() (rune, int, error) {
	if r.Len() == 0 {
		return 0, 0, io.EOF
	}
	r.left -= r.size
	r.unseen += r.size
	if r.unseen >= matchPerCheck {
		r.unseen, r.stopped = 0, r.ctx.Err() != nil
	}
	if r.left < 0 || r.stopped {
		r.stopped = true
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

// refuse notes that a string takes too long to match. A path has one error, because errors repeat the string.
func (m *matching) refuse(path, pattern, text string) {
	m.refusals++
	if !slices.ContainsFunc(m.refused, func(one refusal) bool { return one.path == path }) {
		m.refused = append(m.refused, refusal{path, pattern, text})
	}
}

// errors returns the errors of the strings that take too long to match. Their paths are below root.
func (m *matching) errors(root *field.Path) (errs field.ErrorList) {
	for _, one := range m.refused {
		path := root
		if one.path != "" {
			path = root.Child(strings.TrimPrefix(one.path, "."))
		}
		errs = append(errs, field.Invalid(path, one.text, "takes too long to match with the pattern '"+one.pattern+"'"))
	}
	return errs
}

// checkPattern matches a string with the pattern.
func (c *textCheck) checkPattern(v *visit, text string) verdict {
	compiled, err := c.compiled.get(func() (*pattern, error) { return compilePattern(c.pattern) })
	if err != nil {
		return unknown
	}
	if compiled.plain(text) {
		return verdictOf(compiled.MatchString(text))
	}
	if v.matching == nil {
		v.matching = newMatching()
	}
	return v.matching.match(v.ctx, compiled, text)
}
