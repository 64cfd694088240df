package crdhandler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestVersionsShareWhatDescribesAll checks that the state of a CRD grows with the number of its versions, and not with
// its square. It does not run in parallel, because it counts allocations.
func TestVersionsShareWhatDescribesAll(t *testing.T) {
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: etcd.Prefix(t),
		Header: widgetHeader})
	if err != nil {
		t.Fatal(err)
	}
	config := &Config{Store: store}
	allocations := func(versions int) float64 {
		record := recordWithVersions(t, versions)
		return testing.AllocsPerRun(1, func() {
			info, err := newCRDInfo(config, schemas.NewCache(0), record)
			if err != nil || len(info.versions) != versions {
				t.Fatal(info, err)
			}
		})
	}
	few, many := allocations(200), allocations(1600)
	if many > 10*few {
		t.Errorf("%v allocations for 200 versions, %v for 1,600", few, many)
	}
}

func recordWithVersions(t *testing.T, n int) *crds.Record {
	t.Helper()
	var versions []string
	for i := range n {
		versions = append(versions, fmt.Sprintf(`{"name":"v%d","served":true,"storage":%t,"subresources":{"status":{},`+
			`"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}`, i+1, i == 0))
	}
	const names = `{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"}`
	definition := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",`+
		`"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","names":%s,"versions":[%s]},`+
		`"status":{"acceptedNames":%s}}`, names, strings.Join(versions, ","), names)
	record, err := crds.NewRecord(&dynamicstorage.Entry{Key: "gadgets.example.com", Value: []byte(definition)})
	if err != nil {
		t.Fatal(err)
	}
	return record
}
