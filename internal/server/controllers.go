package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crd-server/crd-server/internal/serviceaccounts"
)

// The names of the controllers, as kube-controller-manager knows them.
const (
	garbageCollector    = "garbage-collector-controller"
	namespaceController = "namespace-controller"
	quotaController     = "resourcequota-controller"
	rootController      = "root-ca-certificate-publisher-controller"
	accountController   = "serviceaccount-controller"
	roleController      = "clusterrole-aggregation-controller"
	policyController    = "validatingadmissionpolicy-status-controller"
)

var controllerNames = []string{
	roleController, garbageCollector, namespaceController, quotaController, rootController, accountController,
	policyController,
}

// runsController reports whether --controllers selects a controller. The first element that is about it decides, as in
// kube-controller-manager.
func (o *ResourceOptions) runsController(name string) bool {
	for _, element := range o.Controllers {
		switch element {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(o.Controllers, "*")
}

// validateControllers returns an error for each name that no controller has.
func (o *ResourceOptions) validateControllers() (errs []error) {
	for _, element := range o.Controllers {
		if name := strings.TrimPrefix(element, "-"); element != "*" && !slices.Contains(controllerNames, name) {
			errs = append(errs, fmt.Errorf("--controllers: %q is none of *, %s", name, strings.Join(controllerNames, ", ")))
		}
	}
	return errs
}

// newAccountController returns the controller of the accounts and root certificates of namespaces.
func newAccountController(o *ValidOptions, a *access, s *stored) (*serviceaccounts.Controller, error) {
	return serviceaccounts.NewController(serviceaccounts.Config{
		Store: s.store, Set: s.builtins, Client: inProcess{a.own}.clientConfig(), TrustFile: a.trust, Fixed: a.trustFixed,
		Accounts: o.Resources.runsController(accountController), Roots: o.Resources.runsController(rootController),
	})
}
