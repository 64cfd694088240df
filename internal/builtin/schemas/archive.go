package schemas

import (
	"archive/zip"
	"crypto/sha256"
	_ "embed" // definitions.zip
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed definitions.zip
var archive string

// Hash identifies the definitions.
func Hash() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(archive))) }

// packages gives access to the definitions of an archive. It decompresses each package once.
type packages struct {
	archive *zip.Reader
	opened  map[string]map[string]json.RawMessage
}

func openArchive() (*packages, error) {
	reader, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("reading OpenAPI definitions: %w", err)
	}
	return &packages{archive: reader, opened: map[string]map[string]json.RawMessage{}}, nil
}

// definition returns the schema of a definition, or nil if the archive does not have it.
func (p *packages) definition(name string) (json.RawMessage, error) {
	of := name[:max(0, strings.LastIndexByte(name, '.'))]
	if _, ok := p.opened[of]; !ok {
		encoded, err := fs.ReadFile(p.archive, of)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			return nil, nil
		}
		var definitions map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(encoded, &definitions)
		}
		if err != nil {
			return nil, fmt.Errorf("reading OpenAPI definitions of %s: %w", of, err)
		}
		p.opened[of] = definitions
	}
	return p.opened[of][name], nil
}
