package validation

import "context"

// visit is one walk over a value. It ends early when its context is done.
type visit struct {
	ctx context.Context
	// left is how much work is left until the next look at the context.
	left int
	// matching is shared by all visits of a validation. It is nil until a match is long.
	matching *matching
}

func newVisit(ctx context.Context) *visit { return &visit{ctx: ctx, left: workPerCheck} }

const (
	// workPerCheck is the number of values, about 50 microseconds of work, between two looks at the context.
	workPerCheck = 256
	// textPerVisit is how many bytes of a string count as much as a value.
	textPerVisit = 16
)

// spend counts work. It returns false if the context is done.
func (v *visit) spend(work int) bool {
	if v.left -= work; v.left > 0 {
		return true
	}
	v.left = workPerCheck
	return v.ctx.Err() == nil
}
