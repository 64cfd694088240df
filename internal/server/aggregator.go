package server

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/crd-server/crd-server/internal/controllers/apiservices"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

// newRegistrar returns a function that keeps the groups of the table registered with an aggregator until ctx is done;
// nil without a host cluster. trust is the file with the server's authority, unless an option names another.
func newRegistrar(o *apiservices.Options, trust string, s *storage) (func(context.Context) error, error) {
	if o.Kubeconfig == "" {
		return nil, nil
	}
	if o.CAFile != "" {
		trust = o.CAFile
	}
	authority, err := dynamiccertificates.NewDynamicCAContentFromFile("aggregator-ca", trust)
	if err != nil {
		return nil, fmt.Errorf("--aggregator-ca-file %s: certificate is unreadable: %w", trust, datadir.Cause(err))
	}
	config := apiservices.Config{
		CABundle: authority.CurrentCABundleContent,
		Served:   s.table.ServedVersions,
		Serves:   s.table.ServesVersion,
		Current:  func(ctx context.Context) error { return catchUp(ctx, s.store, s.table) },
	}
	if err := o.Connect(&config); err != nil {
		return nil, err
	}
	registrar := apiservices.NewRegistrar(config)
	authority.AddListener(listener(func() { registrar.Changed(config.Served()...) }))
	s.table.OnVersionsChange(registrar.Changed)
	return func(ctx context.Context) error {
		go authority.Run(ctx, 1) // ends with ctx
		return registrar.Run(ctx)
	}, nil
}

// listener is called when a file has changed.
type listener func()

// Enqueue implements dynamiccertificates.Listener.
func (l listener) Enqueue() { l() }

// catchUp waits until the table shows the stored state of every CRD, whichever replica has stored it.
func catchUp(ctx context.Context, store *dynamicstorage.Store, table *crds.Table) error {
	stored, err := store.Resource(crds.GroupName, crds.Plural).Snapshot(ctx,
		dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return err
	}
	for entry, err := range stored.Ascend(ctx, "", "") {
		if err != nil {
			return err
		}
		if shown, ok := table.Get(entry.Key); ok && shown.Revision >= entry.Revision {
			continue
		}
		if _, err := crds.NewRecord(entry); err != nil {
			continue // the table never shows an invalid CRD
		}
		if err := table.WaitFor(ctx, entry.Key, entry.Revision); err != nil {
			return err
		}
	}
	return nil
}
