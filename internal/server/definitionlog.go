package server

import (
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
)

// definitionLog is the name of the logger of created and deleted CRDs.
const definitionLog = "crds"

// logDefinitions logs CRDs that are created and deleted after the start, by this replica or another.
func logDefinitions(table *crds.Table, log klog.Logger) {
	log = log.WithName(definitionLog)
	table.OnChange(func(old, record *crds.Record) {
		if !table.HasSynced() || old != nil && record != nil && old.UID == record.UID {
			return
		}
		if old != nil {
			log.Info("Deleted CustomResourceDefinition", "name", old.Name, "uid", old.UID)
		}
		if record != nil {
			log.Info("Created CustomResourceDefinition", "name", record.Name, "uid", record.UID)
		}
	})
}
