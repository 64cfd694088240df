// Package conversion converts custom resources between the versions of their CRD, as its spec.conversion says: by
// rewriting apiVersion only, or by asking a webhook.
//
// Begin at [Factory], of which a process needs one. [Factory.New] makes the [Converter] of a CRD without calling anybody: a
// webhook that is down is noticed by what needs it, not by the rest.
package conversion
