package dynamicstorage

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestFolders checks that resources with folders of other forms than <group>/<plural> are written, loaded, fed, checked
// and counted as all others, and that a folder has no part in that of a similar name.
func TestFolders(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*clientv3.Client{"remote": shared.client, "in-process": shared.Client} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := shared.Prefix(t)
			s := run(t, Options{Client: client, Prefix: prefix})
			folders := []string{"configmaps", "configmaps.example.com/configmaps", "services/specs", "services/endpoints",
				"config"}
			for _, folder := range folders {
				r := s.ResourceAt(folder)
				if r != s.ResourceAt(folder) {
					t.Fatalf("%s has two resources", folder)
				}
				put(t, r, "default/loaded", folder)
				w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
				written := put(t, r, "default/fed", folder)
				if event := next(t, w, 1)[0]; event.Entry != written {
					t.Errorf("%s: the event has %+v instead of %+v", folder, event.Entry, written)
				}
				got, err := client.Get(t.Context(), prefix+"/"+folder+"/default/fed")
				if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != folder {
					t.Errorf("%s: etcd has %v, %v", folder, got, err)
				}
			}
			for _, folder := range folders {
				if objects, bytes := s.Size(folder); objects != 2 || bytes <= 0 {
					t.Errorf("%s has %d objects of %d bytes", folder, objects, bytes)
				}
			}
		})
	}
}
