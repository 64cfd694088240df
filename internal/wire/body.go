package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ReadBody reads the body of a request and closes it. A body of more than limit bytes is answered with 413; a
// limit of 0 or less means none. Errors of the reading are returned as they are.
func ReadBody(req *http.Request, limit int64) ([]byte, error) {
	defer req.Body.Close()
	var body io.Reader = req.Body
	if limit > 0 {
		body = io.LimitReader(req.Body, limit+1)
	}
	var buffer bytes.Buffer
	if announced := req.ContentLength; announced > 0 && (limit <= 0 || announced <= limit) {
		// One byte more than announced lets ReadFrom see the end without growing.
		buffer.Grow(int(min(announced, maxPreallocated)) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(body); err != nil {
		return nil, err
	}
	if limit > 0 && int64(buffer.Len()) > limit {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	return buffer.Bytes(), nil
}

// maxPreallocated bounds what a mere announcement of a length can make us allocate.
const maxPreallocated = 64 << 10
