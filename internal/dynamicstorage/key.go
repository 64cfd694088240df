package dynamicstorage

import (
	"bytes"
	"path"
	"strings"
)

// Keys in etcd are <prefix>/<folder>/<name> or <prefix>/<folder>/<namespace>/<name>. The folder of a custom resource is
// <group>/<plural>, and its group has a dot. Folders of built-in resources are mostly one segment without a dot, such
// as "configmaps", and some have more, such as "services/specs". No folder lies in another one. Keys that belong to no
// resource are ignored.

// cleanPrefix returns a prefix with a leading and without a trailing slash.
func cleanPrefix(prefix string) string {
	if prefix = path.Clean("/" + prefix); prefix != "/" {
		return prefix
	}
	return ""
}

// resourceOf returns the resource of a full key; nil if its folder has none. It does not allocate, and it tries few
// folders: it is called for every event below the prefix.
func resourceOf(resources map[string]*Resource, prefix string, key []byte) *Resource {
	if len(key) <= len(prefix) || string(key[:len(prefix)]) != prefix || key[len(prefix)] != '/' {
		return nil
	}
	rest := key[len(prefix)+1:]
	end := slashFrom(rest, 0)
	if end > 0 && bytes.IndexByte(rest[:end], '.') >= 0 { // a group, and not a folder
		end = slashFrom(rest, end+1)
	}
	for ; end > 0; end = slashFrom(rest, end+1) {
		if r := resources[string(rest[:end])]; r != nil {
			return r
		}
	}
	return nil
}

// slashFrom returns the index of the first slash in key that is not before from; -1 if there is none.
func slashFrom(key []byte, from int) int {
	if n := bytes.IndexByte(key[from:], '/'); n >= 0 {
		return from + n
	}
	return -1
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
