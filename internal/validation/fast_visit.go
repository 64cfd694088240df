package validation

import (
	"context"
	"regexp"
	"strings"
)

// visit is one walk over a value. It ends early when its context is done.
type visit struct {
	ctx context.Context
	// left is how much work is left until the next look at the context.
	left int
}

func newVisit(ctx context.Context) *visit { return &visit{ctx: ctx, left: workPerCheck} }

const (
	// workPerCheck is the number of values, about 50 microseconds of work, between two looks at the context.
	workPerCheck = 256
	// textPerVisit is how many bytes of a string count as much as a value.
	textPerVisit = 16
	// maxPlainText is the length of the longest string that is matched without looks at the context.
	maxPlainText = 4 << 10
)

// spend counts work. It returns false if the context is done.
func (v *visit) spend(work int) bool {
	if v.left -= work; v.left > 0 {
		return true
	}
	v.left = workPerCheck
	return v.ctx.Err() == nil
}

// checkPattern matches a string with the pattern. Matching takes the length of the string times the states of the
// pattern, which may be a thousand.
func (c *textCheck) checkPattern(v *visit, text string) verdict {
	compiled, err := c.compiled.get(func() (*regexp.Regexp, error) { return regexp.Compile(c.pattern) })
	if err != nil {
		return unknown
	}
	return match(v.ctx, compiled, text)
}

// match matches a string until ctx is done. The verdict is unknown then.
// See docs/upstream.md, "Patterns are matched to their end".
func match(ctx context.Context, pattern *regexp.Regexp, text string) verdict {
	if len(text) <= maxPlainText {
		return verdictOf(pattern.MatchString(text))
	}
	matches := pattern.MatchReader(&runesUntil{ctx: ctx, Reader: strings.NewReader(text)})
	if ctx.Err() != nil {
		return unknown
	}
	return verdictOf(matches)
}

// runesUntil reads runes until ctx is done.
type runesUntil struct {
	*strings.Reader
	ctx  context.Context
	read int
}

// runesPerCheck is the number of runes between two looks at the context: a millisecond for a pattern of a thousand
// states.
const runesPerCheck = 64

func (r *runesUntil) ReadRune() (rune, int, error) {
	if r.read++; r.read%runesPerCheck == 0 {
		if err := r.ctx.Err(); err != nil {
			return 0, 0, err
		}
	}
	return r.Reader.ReadRune()
}
