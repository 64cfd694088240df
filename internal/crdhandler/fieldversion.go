package crdhandler

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// shownVersion takes the place of the apiVersion of an object that the library is shown. What the library makes of such objects, by merging them or
// by taking fields from them, are plain values: it would go through those in Go's random order, and could not be interrupted. It looks for their version as
// text, to see if it has to convert them. This is none, so that it asks us, and is shown fieldValues again.
type shownVersion struct {
	text string
	ctx  context.Context // nil: nothing ends it
}

// versionShown returns an object with its version as the library is shown it. The rest is shared.
func versionShown(ctx context.Context, obj map[string]any) map[string]any {
	text, ok := obj["apiVersion"].(string)
	if !ok {
		return obj
	}
	obj = maps.Clone(obj)
	obj["apiVersion"] = shownVersion{text, ctx}
	return obj
}

// versionHidden returns an object that the library was shown, or has made, as it is without it, and what ends work on it.
func versionHidden(obj map[string]any) (context.Context, map[string]any) {
	version, ok := obj["apiVersion"].(shownVersion)
	if !ok {
		return nil, obj
	}
	obj = maps.Clone(obj)
	obj["apiVersion"] = version.text
	return version.ctx, obj
}

// versionValue is the apiVersion in a fieldValue: the text, but for what comes to be in what the library makes.
type versionValue struct {
	value.Value
	shown shownVersion
}

// Unstructured returns the shownVersion.
func (v versionValue) Unstructured() any { return v.shown }

// Format formats the value as the library's.
func (v versionValue) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.Value)
}
