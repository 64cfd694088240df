package dynamicstorage

import (
	"bytes"
	"path"
	"strings"
)

// Keys in etcd are <prefix>/<group>/<plural>/<name> or <prefix>/<group>/<plural>/<namespace>/<name>. Other keys below the prefix
// are ignored.

// cleanPrefix returns a prefix with a leading and without a trailing slash.
func cleanPrefix(prefix string) string {
	if prefix = path.Clean("/" + prefix); prefix != "/" {
		return prefix
	}
	return ""
}

// resourceOf returns the name of the resource in a full key, "<group>/<plural>"; nil for keys of another shape.
// It does not allocate: it is called for every event below the prefix.
func resourceOf(prefix string, key []byte) []byte {
	if len(key) <= len(prefix) || string(key[:len(prefix)]) != prefix || key[len(prefix)] != '/' {
		return nil
	}
	rest := key[len(prefix)+1:]
	group := bytes.IndexByte(rest, '/')
	if group <= 0 {
		return nil
	}
	plural := bytes.IndexByte(rest[group+1:], '/')
	if plural <= 0 {
		return nil
	}
	return rest[:group+1+plural]
}

// validKey reports whether a key below a resource is "name" or "namespace/name".
func validKey(key string) bool {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return key != ""
	}
	return namespace != "" && name != "" && !strings.Contains(name, "/")
}

// prefixEnd returns the first key after all that begin with prefix.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string(prefix[i]+1)
		}
	}
	return "\x00" // means no end to etcd
}
