package crdhandler

import (
	"errors"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// What is told of an object that does not fit its type: the library tells everything, with all values, to the client and several times to
// the log.
const (
	// mostMisfits bounds the errors, longestMisfit the bytes of their text.
	mostMisfits   = 100
	longestMisfit = 16 << 10
)

// shortened returns an error whose text is no longer than it may be; one that is short already is itself.
func shortened(err error) error {
	misfits, ok := errors.AsType[typed.ValidationErrors](err)
	more := ok && len(misfits) > mostMisfits
	if more {
		err = misfits[:mostMisfits]
	}
	text := err.Error()
	if len(text) > longestMisfit {
		more, text = true, strings.ToValidUTF8(text[:longestMisfit], "")
	}
	if !more {
		return err
	}
	return errors.New(text + " ... and more")
}
