package crdhandler

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// continueToken says where a list in pages goes on. Its encoding is upstream's, so that a client may come from another
// server in the middle of a list.
type continueToken struct {
	Version string `json:"v"`
	// Revision is that of the first page; latestRevision: whatever is current.
	Revision int64 `json:"rv"`
	// Start is the first key that may be in the next page, relative to what is listed.
	Start string `json:"start"`
}

const (
	continueVersion = "meta.k8s.io/v1"
	latestRevision  = -1
)

var errContinueKey = errors.New("continue key is not valid")

// after returns the token for the page that follows key.
func after(key string, revision int64) continueToken {
	return continueToken{Revision: revision, Start: key + "\x00"}
}

func (t continueToken) encode() string {
	t.Version = continueVersion
	encoded, err := json.Marshal(t)
	if err != nil {
		panic("crdhandler: continue token: " + err.Error()) // strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// decodeContinue reads a token that a client sent.
func decodeContinue(value string) (continueToken, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return continueToken{}, fmt.Errorf("%w: %v", errContinueKey, err)
	}
	var t continueToken
	if err := json.Unmarshal(decoded, &t); err != nil {
		return continueToken{}, fmt.Errorf("%w: %v", errContinueKey, err)
	}
	switch {
	case t.Version != continueVersion:
		return continueToken{}, fmt.Errorf("%w: server does not recognize this encoded version %v", errContinueKey, t.Version)
	case t.Revision == 0:
		return continueToken{}, fmt.Errorf("%w: incorrect encoded start resourceVersion (version meta.k8s.io/v1)", errContinueKey)
	case t.Start == "":
		return continueToken{}, fmt.Errorf("%w: encoded start key empty (version meta.k8s.io/v1)", errContinueKey)
	}
	// A key that leads elsewhere, such as ../, is not one of ours.
	start := "/" + strings.TrimPrefix(t.Start, "/")
	if path.Clean(start) != start {
		return continueToken{}, fmt.Errorf("%w: %v", errContinueKey, t.Start)
	}
	t.Start = start[1:]
	return t, nil
}
