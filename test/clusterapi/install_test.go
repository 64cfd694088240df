package clusterapi

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/test/programs"
)

const (
	// namespace, account and service are those of Cluster API's manifests.
	namespace = "capi-system"
	account   = "capi-manager"
	service   = "capi-webhook-service"
	// webhooks with this annotation get their caBundle from cert-manager's cainjector, here from the rotation.
	injectAnnotation = "cert-manager.io/inject-ca-from"
)

// installedKinds are the kinds of Cluster API's manifests that are installed. The others run the manager in a cluster
// and give it a certificate.
var installedKinds = []string{
	"Namespace", "CustomResourceDefinition", "ServiceAccount",
	"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
}

// installation are Cluster API's manifests, applied by kubectl.
type installation struct {
	*testing.T
	kubeconfig string
	manifests  []byte
}

// install applies the manifests of Cluster API.
func install(t *testing.T, kubeconfig string, ports ports) *installation {
	t.Helper()
	source := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	source.Dir = filepath.Join(programs.Root(), "test", "clusterapi", "manager")
	dir, err := source.Output()
	if err != nil {
		t.Fatalf("find Cluster API's module: %v", err)
	}
	in := &installation{T: t, kubeconfig: kubeconfig}
	all := in.kubectl(nil, "kustomize", filepath.Join(strings.TrimSpace(string(dir)), "core", "config", "default"))
	for _, document := range bytes.Split(all, []byte("\n---\n")) {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(installedKinds, object.GetKind()) {
			setPort(&object, ports.webhooks)
			in.add(object.Object)
		}
	}
	in.add(infrastructure())
	if *upstream {
		in.add(externalService())
		in.add(managerBinding())
	}
	in.apply()
	in.kubectl(nil, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return in
}

func (in *installation) add(object map[string]any) {
	in.Helper()
	document, err := yaml.Marshal(object)
	if err != nil {
		in.Fatal(err)
	}
	in.manifests = append(append(in.manifests, "---\n"...), document...)
}

// externalService is how kube-apiserver finds the manager, which is not in a cluster.
func externalService() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": service, "namespace": namespace},
		"spec":     map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}
}

// managerBinding gives the manager its role directly. Cluster API binds an aggregated role, whose rules the controllers
// of kube-controller-manager collect, which do not run beside kube-apiserver here.
func managerBinding() map[string]any {
	const group = "rbac.authorization.k8s.io"
	return map[string]any{
		"apiVersion": group + "/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "manager"},
		"roleRef":  map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": "capi-manager-role"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}},
	}
}

// infrastructure is the CRD of machines of a provider. The conversions of Cluster API ask for its contract.
func infrastructure() map[string]any {
	schema := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.infrastructure.example.com", "labels": map[string]any{
			"cluster.x-k8s.io/v1beta1": "v1", "cluster.x-k8s.io/v1beta2": "v1",
		}},
		"spec": map[string]any{
			"group": "infrastructure.example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Thing", "plural": "things"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema},
			}},
		},
	}
}

// setPort sets the port of the service in the object's webhooks, because the manager does not listen on port 443.
func setPort(object *unstructured.Unstructured, port int) {
	for _, config := range clientConfigs(object) {
		config["service"].(map[string]any)["port"] = int64(port)
	}
}

// clientConfigs returns the clientConfig of each webhook of an object.
func clientConfigs(object *unstructured.Unstructured) (configs []map[string]any) {
	if list, ok := object.Object["webhooks"].([]any); ok {
		for _, webhook := range list {
			configs = append(configs, webhook.(map[string]any)["clientConfig"].(map[string]any))
		}
	}
	conversion := []string{"spec", "conversion", "webhook", "clientConfig"}
	if config, ok, _ := unstructured.NestedFieldNoCopy(object.Object, conversion...); ok {
		configs = append(configs, config.(map[string]any))
	}
	return configs
}

// apply applies the manifests as their owner.
func (in *installation) apply() {
	in.Helper()
	in.kubectl(in.manifests, "apply", "--server-side", "--field-manager=installer", "-f", "-")
}

// kubectl runs kubectl and returns what it prints.
func (in *installation) kubectl(input []byte, args ...string) []byte {
	in.Helper()
	path, err := programs.Kubectl()
	if err != nil {
		in.Fatal(err)
	}
	command := exec.CommandContext(in.Context(), path, append([]string{"--kubeconfig", in.kubeconfig}, args...)...)
	command.Stdin = bytes.NewReader(input)
	var failure bytes.Buffer
	command.Stderr = &failure
	printed, err := command.Output()
	if err != nil {
		in.Fatal(fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, failure.String()))
	}
	return printed
}
