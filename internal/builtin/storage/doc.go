// Package storage has the kinds of Kubernetes' storage: PersistentVolumes, their claims and their classes, and the
// objects of drivers. Begin with Definitions; each kind has a file of its own.
//
// The rules of claims and volumes follow kube-apiserver's validation. Of the sources of volumes only those are checked
// that clusters still use: CSI, host paths, local disks and NFS. The rules of the other kinds are few.
package storage
