package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ReadBody reads and closes the body of a request. It returns a Status 413 if the body has more than limit bytes; 0 or
// less means no limit.
func ReadBody(req *http.Request, limit int64) ([]byte, error) {
	defer req.Body.Close()
	var body io.Reader = req.Body
	if limit > 0 {
		body = io.LimitReader(req.Body, limit+1)
	}
	var buffer bytes.Buffer
	if announced := req.ContentLength; announced > 0 && announced <= limit {
		// ReadFrom needs spare capacity to see the end without growing the buffer.
		buffer.Grow(int(announced) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(body); err != nil {
		return nil, err
	}
	if limit > 0 && int64(buffer.Len()) > limit {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	return buffer.Bytes(), nil
}
