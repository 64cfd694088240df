package listing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// continueToken says where the next page of a list begins. It is encoded as upstream does it, so that a client can
// change servers in the middle of a list.
type continueToken struct {
	Version string `json:"v"`
	// Revision is the one of the first page, or latestRevision.
	Revision int64 `json:"rv"`
	// Start is the first key that may be in the next page, relative to what is listed.
	Start string `json:"start"`
}

const (
	continueVersion = "meta.k8s.io/v1"
	latestRevision  = -1
)

var errContinueKey = errors.New("continue key is not valid")

// continueAfter returns the token of the page that follows key.
func continueAfter(key string, revision int64) continueToken {
	return continueToken{Revision: revision, Start: key + "\x00"}
}

func (t continueToken) encode() string {
	t.Version = continueVersion
	encoded, err := json.Marshal(t)
	if err != nil {
		panic("listing: continue token: " + err.Error()) // cannot happen: strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// decodeContinue decodes the token of a request.
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
		return continueToken{}, fmt.Errorf("%w: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
			errContinueKey)
	case t.Start == "":
		return continueToken{}, fmt.Errorf("%w: encoded start key empty (version meta.k8s.io/v1)", errContinueKey)
	}
	// Refuse keys that leave the listed prefix, such as ../.
	start := "/" + strings.TrimPrefix(t.Start, "/")
	if path.Clean(start) != start {
		return continueToken{}, fmt.Errorf("%w: %v", errContinueKey, t.Start)
	}
	t.Start = start[1:]
	return t, nil
}

const continueExpired = "The provided continue parameter is too old to display a consistent list result. You can " +
	"start a new list " +
	"without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
	"results. " +
	"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
	"deleted " +
	"between the time the first chunk was returned and now may show up in the list."

// expiredContinue returns the API error for a continue token whose revision is compacted. It carries a token that
// continues at the same key and the latest revision (L6).
func expiredContinue(start string) error {
	err := apierrors.NewResourceExpired(continueExpired)
	err.ErrStatus.ListMeta.Continue = continueToken{Revision: latestRevision, Start: start}.encode()
	return err
}
