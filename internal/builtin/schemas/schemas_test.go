package schemas

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestArchiveIsCurrent compares the origin that the archive names with the list of types and the versions of modules.
func TestArchiveIsCurrent(t *testing.T) {
	t.Parallel()
	from, err := openArchive()
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("types.txt")
	if err != nil {
		t.Fatal(err)
	}
	hash, modules, _ := strings.Cut(from.archive.Comment, "\n")
	if want := fmt.Sprintf("types.txt %x", sha256.Sum256(list)); hash != want {
		t.Errorf("the archive is of %q, and the list is %q; run make generate", hash, want)
	}
	args := []string{"list", "-m"}
	for line := range strings.Lines(modules) {
		path, _, _ := strings.Cut(line, " ")
		args = append(args, path)
	}
	if len(args) != 6 {
		t.Fatalf("the archive names the modules %q", modules)
	}
	listed, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if current := strings.TrimSpace(string(listed)); current != modules {
		t.Errorf("the archive is of the modules\n%s\nand go.mod has\n%s\nrun make generate", modules, current)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	definitions, err := Definitions(PrefixV3, corev1.ResourceQuota{}.OpenAPIModelName(), "no.such.Type", "none", "")
	if err != nil {
		t.Fatal(err)
	}
	quota, ok := definitions["io.k8s.api.core.v1.ResourceQuota"]
	if !ok || quota.Schema.Description == "" {
		t.Fatalf("the definition of a quota: %+v", quota)
	}
	metadata := quota.Schema.Properties["metadata"]
	if got := metadata.Ref.String(); got != PrefixV3+"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" {
		t.Errorf("metadata refers to %q", got)
	}
	kinds := quota.Schema.Extensions["x-kubernetes-group-version-kind"]
	if fmt.Sprint(kinds) != "[map[group: kind:ResourceQuota version:v1]]" {
		t.Errorf("kinds are %v", kinds)
	}
	for _, name := range []string{
		"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "io.k8s.api.core.v1.ScopedResourceSelectorRequirement",
	} {
		if _, ok := definitions[name]; !ok {
			t.Errorf("there is no definition of %s, to which a quota refers", name)
		}
	}
	if _, ok := definitions["io.k8s.api.core.v1.Secret"]; ok {
		t.Error("there is a definition of Secret, to which a quota does not refer")
	}
	quantity := definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"].Schema
	v2, ok := quantity.Extensions[common.ExtensionV2Schema].(spec.Schema)
	if !ok || len(v2.OneOf) > 0 || len(quantity.OneOf) == 0 {
		t.Errorf("a quantity is %+v", quantity)
	}
}

func TestTypeConverter(t *testing.T) {
	t.Parallel()
	account := &corev1.ServiceAccount{
		TypeMeta:         metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		Secrets:          []corev1.ObjectReference{{Name: "one"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "two"}},
	}
	for name, want := range map[string]string{
		account.OpenAPIModelName(): `{"f:imagePullSecrets":{},"f:secrets":{"k:{\"name\":\"one\"}":{}}}`,
		"com.example.v1.MadeUp":    `{"f:imagePullSecrets":{},"f:secrets":{}}`,
	} {
		types, err := TypeConverter(name)
		if err != nil {
			t.Fatal(err)
		}
		typed, err := types.ObjectToTyped(account)
		if err != nil {
			t.Fatal(err)
		}
		set, err := typed.ToFieldSet()
		if err != nil {
			t.Fatal(err)
		}
		set = set.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
			fieldpath.MakePathOrDie("metadata")))
		fields, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(fields) != want {
			t.Errorf("fields by the types of %s: %s, want %s", name, fields, want)
		}
	}
}
