package crdhandler

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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
		record := recordWithVersions(versions)
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

func recordWithVersions(n int) *crds.Record {
	record := &crds.Record{Group: "example.com", AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{
		Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList",
	}}
	record.Name = "gadgets.example.com"
	for i := range n {
		record.Versions = append(record.Versions, crds.Version{
			Name: fmt.Sprintf("v%d", i+1), Served: true, Storage: i == 0, Status: true, Scale: true,
		})
	}
	return record
}
