// Package boundedhttp limits the size of HTTP responses from programs of others: webhooks for conversion, admission,
// authentication, authorization and audit, and issuers of tokens. The libraries that call them read responses of any
// size. See docs/upstream.md, "Responses of webhooks are read without limit".
//
// etcd, KMS plugins (gRPC limits their responses) and the API server of a host cluster are trusted. Begin with
// Transport.
package boundedhttp
