package server

import "github.com/crd-server/crd-server/internal/server/etcd"

// folders returns the folders of the resources in etcd.
func (o *Options) folders() *etcd.Folders {
	return etcd.NewFolders(o.Etcd.Root())
}
