// Package webhookservices finds the addresses of webhooks whose configuration names a Service instead of a URL.
// Services are resources of a cluster. A server that stands alone has none, so rules of its flags say where they are.
//
// Begin at options.go, which has the syntax of rules.
package webhookservices
