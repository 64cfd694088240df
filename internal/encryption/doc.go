// Package encryption encrypts what is stored: the values of the resources that an EncryptionConfiguration names, by
// aescbc, aesgcm, secretbox or a key management service (KMS v2), as kube-apiserver does, with its flags and its format. Either
// server reads what the other has written.
//
// Begin with New. A Transformer stands between dynamicstorage and etcd; what is kept in memory is not encrypted.
package encryption
