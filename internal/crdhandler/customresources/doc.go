// Package customresources has the parts of an endpoint that only custom resources have: how their objects are stored,
// decoded from requests, defaulted, converted and validated. The verbs in crdhandler do not know it.
//
// Begin at codec.go, which translates between stored bytes and objects. serializer.go decodes the bodies of requests,
// objects.go has the functions that handle unstructured objects, strategy.go the rules for writes.
//
// Everything compiles schemas on first use, and holds them no longer than a call: package schemas may evict them.
package customresources
