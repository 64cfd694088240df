// Package answers bounds what is read of the answers of other people's programs: webhooks of conversion, admission, authentication,
// authorization and audit, and issuers of tokens. An answer may cost what its question is worth, and no more; the libraries that ask
// read all that comes.
//
// etcd, plugins of a KMS (gRPC bounds their answers) and the API server of a host cluster are believed.
package answers
