// Package encryption encrypts values in etcd: those of the resources that an EncryptionConfiguration names, by
// aescbc, aesgcm, secretbox or a key management service (KMS v2). Flags and format are kube-apiserver's, so each
// server can read what the other has written.
//
// Begin with New. A Transformer stands between dynamicstorage and etcd. Objects in memory are not encrypted.
package encryption
