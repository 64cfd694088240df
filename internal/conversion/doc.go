// Package conversion converts custom resources between the versions of their CRD as spec.conversion says: by changing
// apiVersion only, or by calling a webhook.
//
// Begin at [Factory] in factory.go, of which a process has one. [Factory.New] returns the [Converter] of a CRD
// (converter.go) and calls no webhook: only conversions that need a webhook depend on it. bound.go limits the responses
// of webhooks.
package conversion
