package kubeapiserver

import (
	"fmt"
	"slices"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/storageobjectinuseprotection"
)

// admissionFlags are the flags for admission plugins, in the order in which completeAdmission checks them.
var admissionFlags = [...]string{"--enable-admission-plugins", "--disable-admission-plugins", "--admission-control"}

// completeAdmission gives the server the admission plugins that it has. It returns the flags that enable others.
func (o *Options) completeAdmission() (without []string, err error) {
	a := &o.server.Admission
	plugins := readTables().Plugins
	for n, names := range [][]string{a.Enable, a.Disable, o.admissionControl} {
		for _, name := range names {
			if !slices.Contains(plugins, name) {
				return nil, fmt.Errorf("%s: plugin %q is unknown", admissionFlags[n], name)
			}
		}
	}
	if len(o.admissionControl) > 0 {
		if len(a.Enable)+len(a.Disable) > 0 {
			return nil, fmt.Errorf("--admission-control excludes --enable-admission-plugins and --disable-admission-plugins")
		}
		a.Enable = o.admissionControl
		a.Disable = slices.DeleteFunc(slices.Clone(plugins), func(name string) bool {
			return slices.Contains(a.Enable, name)
		})
	}
	for _, name := range a.Enable {
		if !admission.Has(name) {
			without = append(without, "--enable-admission-plugins="+name)
		}
	}
	missing := func(name string) bool { return !admission.Has(name) }
	a.Enable, a.Disable = slices.DeleteFunc(a.Enable, missing), slices.DeleteFunc(a.Disable, missing)
	// It is on by default in kube-apiserver, which has no controllers either.
	name := storageobjectinuseprotection.Name
	if !slices.Contains(a.Disable, name) && !slices.Contains(a.Enable, name) {
		a.Enable = append(a.Enable, name)
	}
	return without, nil
}
