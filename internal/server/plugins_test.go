package server

import (
	"strings"
	"testing"
)

const (
	claimsPath  = "/api/v1/namespaces/default/persistentvolumeclaims"
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
)

// claimJSON is the JSON of a claim. fields are further ones of the spec.
func claimJSON(name, fields string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"accessModes":["ReadWriteOnce"],` +
		`"resources":{"requests":{"storage":"1Gi"}}` + fields + `}}`
}

// classJSON is the JSON of a default StorageClass.
func classJSON(name, fields string) string {
	return `{"metadata":{"name":"` + name + `","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},` +
		`"provisioner":"example.com/p"` + fields + `}`
}

// TestStoragePlugins checks that claims get the default class and a finalizer, and grow if their class allows it.
func TestStoragePlugins(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all", "--enable-admission-plugins=StorageObjectInUseProtection").root()
	merge := []string{"Content-Type", "application/merge-patch+json"}
	create := func(name, fields string) string {
		return root.must(201, "POST", claimsPath, claimJSON(name, fields)).body
	}
	without, protected := create("none", ""), `"finalizers":["kubernetes.io/pvc-protection"]`
	if strings.Contains(without, "storageClassName") || !strings.Contains(without, protected) {
		t.Errorf("without a class: %s", without)
	}
	root.must(201, "POST", classesPath, classJSON("z", `,"allowVolumeExpansion":true`))
	root.must(201, "POST", classesPath, classJSON("rigid", ""))
	table := root.must(200, "GET", classesPath, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").body
	if strings.Count(table, "(default)") != 1 {
		t.Errorf("table %s", table)
	}
	inEffect := "z"
	if strings.Contains(table, "rigid (default)") { // created in the same second, and first by name
		inEffect = "rigid"
	}
	if got := create("a", ""); !strings.Contains(got, `"storageClassName":"`+inEffect+`"`) {
		t.Errorf("claim %s", got)
	}
	if got := create("b", `,"storageClassName":""`); !strings.Contains(got, `"storageClassName":""`) {
		t.Errorf("claim %s", got)
	}
	for name, allowed := range map[string]bool{"z": true, "rigid": false} {
		path := claimsPath + "/of-" + name
		create("of-"+name, `,"storageClassName":"`+name+`"`)
		root.must(200, "PATCH", path+"/status", `{"status":{"phase":"Bound"}}`, merge...)
		grown := root.send("PATCH", path, `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, merge...)
		if allowed != (grown.code == 200) || !allowed && grown.code != 403 {
			t.Errorf("class %s: %d %s", name, grown.code, grown.body)
		}
	}
}

// TestDisabledPlugins checks that the plugins of single resources can be switched off.
func TestDisabledPlugins(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all",
		"--disable-admission-plugins=DefaultStorageClass,DefaultIngressClass").root()
	root.must(201, "POST", classesPath, classJSON("a", ""))
	got := root.must(201, "POST", claimsPath, claimJSON("a", "")).body
	if strings.Contains(got, "storageClassName") || strings.Contains(got, "finalizers") {
		t.Errorf("claim %s", got)
	}
}

// TestUnprotectedClaims checks that claims go when they are deleted, and with their namespace: no controller would
// remove a finalizer.
func TestUnprotectedClaims(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything).root()
	root.must(201, "POST", claimsPath, claimJSON("a", ""))
	root.must(200, "DELETE", claimsPath+"/a", "")
	root.must(404, "GET", claimsPath+"/a", "")
	root.createNamespace("x")
	root.must(201, "POST", "/api/v1/namespaces/x/persistentvolumeclaims", claimJSON("a", ""))
	root.must(200, "DELETE", namespacesPath+"/x", "")
	root.becomes(404, namespacesPath+"/x", "")
}
