package server

import (
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// folders returns the folders of the resources in etcd.
func (o *Options) folders() *etcd.Folders {
	folders := etcd.NewFolders(o.Etcd.Root())
	for _, d := range builtin.Definitions(o.builtinTier()) {
		folders.Add(d.StorageFolder(), d.GroupVersionResource().GroupResource())
	}
	return folders
}
