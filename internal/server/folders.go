package server

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// folders returns the folders of the resources in etcd.
func (o *Options) folders() *etcd.Folders {
	folders := etcd.NewFolders(o.Etcd.Root())
	for _, d := range builtin.Definitions(o.builtinTier()) {
		folders.Add(d.StorageFolder(), d.GroupVersionResource().GroupResource())
	}
	folders.Add(allocator.PortsFolder, corev1.Resource("servicenodeportallocations")) // its name in kube-apiserver
	return folders
}
