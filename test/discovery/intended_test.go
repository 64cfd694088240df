package discovery

import (
	"regexp"
	"strings"
)

// The intended differences are listed in docs/conformance.md, at BA4, B13 and O4. Nobody writes logs. Connections to
// pods, nodes and services are not described. APIServices can only be read.
var (
	unlikeLines = regexp.MustCompile(
		`^(listed|aggregated) ( ?v1|apiregistration\.k8s\.io[ /]v1) (pods/log|apiservices)[ /]`)
	unlikePaths = regexp.MustCompile(
		`/(pods/\{name\}/(attach|exec|log|portforward|proxy)|nodes/\{name\}/proxy|services/\{name\}/proxy)(/|$)|` +
			`^/apis/apiregistration\.k8s\.io/v1/apiservices`)
)

// intended reports whether a line differs intentionally.
func intended(line string) bool { return unlikeLines.MatchString(line) }

// unlikePath reports whether the description of a path differs intentionally. The DELETE of a namespace is described as
// what it does: it returns the namespace.
func unlikePath(path string) bool {
	return unlikePaths.MatchString(path) || path == "/api/v1/namespaces/{name}"
}

// removeUnlike removes what differs intentionally in the target of a reference: the groups that have DeleteOptions and
// WatchEvent.
func removeUnlike(ref string, target any) {
	if members, ok := target.(map[string]any); ok &&
		(strings.HasSuffix(ref, ".meta.v1.DeleteOptions") || strings.HasSuffix(ref, ".meta.v1.WatchEvent")) {
		delete(members, "x-kubernetes-group-version-kind")
	}
}
