package discovery

import (
	"bufio"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
)

// sendBody sends what write puts into an output, compressed if that is worth it and the client takes it.
func sendBody(w http.ResponseWriter, req *http.Request, worthIt bool, write func(output) error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	var out output = &plainOutput{w: buffered}
	if worthIt && responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		out = &gzipOutput{w: buffered}
	}
	if req.Method == http.MethodHead {
		return
	}
	err := write(out)
	if err == nil {
		err = out.close()
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		// The client has left, or has to be told that what it got is not all.
		panic(http.ErrAbortHandler)
	}
}

// separated writes a block after a separator.
func separated(out output, separator string, b *block) error {
	if separator != "" {
		if err := out.text(separator); err != nil {
			return err
		}
	}
	return out.block(b)
}
