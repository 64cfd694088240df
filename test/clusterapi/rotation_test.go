package clusterapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// injector is the field manager of caBundle. The installer owns the rest of the objects.
const injector = "injector"

// injected are the resources whose objects contain a caBundle.
var injected = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// rotation does what cert-manager and its cainjector do for webhooks.
type rotation struct {
	*testing.T
	client       dynamic.Interface
	ports        ports
	certificates string // the folder of the manager's certificate
	current      *authority
}

// replace replaces the authority and the certificate: first both authorities are trusted, then the manager gets a new
// certificate, then the old authority is trusted no longer. Clients write meanwhile, and after each step.
func (r *rotation) replace(next *authority, load *traffic) {
	r.Helper()
	r.trust(r.current, next)
	load.await()
	certificate := next.issue(r.T)
	r.write(certificate)
	eventually(r.T, "load the new certificate", func(ctx context.Context) error { return r.serves(ctx, certificate) })
	load.await()
	r.trust(next)
	load.await()
}

// serves returns an error until the manager uses a certificate. The manager watches its files.
func (r *rotation) serves(ctx context.Context, certificate pair) error {
	// The certificate itself is compared, whoever signed it.
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", r.ports.webhooks))
	if err != nil {
		return err
	}
	defer connection.Close()
	served := connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
	if served.Cmp(certificate.serial) != 0 {
		return fmt.Errorf("the manager serves the certificate %v", served)
	}
	return nil
}

// write gives the manager a certificate.
func (r *rotation) write(certificate pair) {
	r.Helper()
	for name, content := range map[string][]byte{"tls.key": certificate.key, "tls.crt": certificate.certificate} {
		if err := os.WriteFile(filepath.Join(r.certificates, name), content, 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

// trust makes all webhooks trust authorities, the last of which is the current one from now on.
func (r *rotation) trust(authorities ...*authority) {
	r.Helper()
	var bundles [][]byte
	for _, a := range authorities {
		bundles = append(bundles, a.bundle)
		r.current = a
	}
	bundle := base64.StdEncoding.EncodeToString(bytes.Join(bundles, nil))
	for gvr, objects := range r.objects() {
		for _, object := range objects {
			resource, options := r.client.Resource(gvr), metav1.ApplyOptions{FieldManager: injector}
			_, err := resource.Apply(r.Context(), object.GetName(), withBundle(object, bundle), options)
			if err != nil {
				r.Fatal(err)
			}
		}
	}
}

// objects are those that ask for a caBundle, as cainjector finds them.
func (r *rotation) objects() map[schema.GroupVersionResource][]unstructured.Unstructured {
	r.Helper()
	found := map[schema.GroupVersionResource][]unstructured.Unstructured{}
	for _, gvr := range injected {
		list, err := r.client.Resource(gvr).List(r.Context(), metav1.ListOptions{})
		if err != nil {
			r.Fatal(err)
		}
		found[gvr] = slices.DeleteFunc(list.Items, func(object unstructured.Unstructured) bool {
			return object.GetAnnotations()[injectAnnotation] == ""
		})
		if len(found[gvr]) == 0 {
			r.Fatalf("no %s asks for a caBundle", gvr.Resource)
		}
	}
	return found
}

// withBundle returns the configuration of the caBundle fields of an object.
func withBundle(object unstructured.Unstructured, bundle string) *unstructured.Unstructured {
	clientConfig := func() map[string]any { return map[string]any{"caBundle": bundle} }
	configuration := map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
		"metadata": map[string]any{"name": object.GetName()},
	}
	if object.GetKind() == "CustomResourceDefinition" {
		webhook := map[string]any{"clientConfig": clientConfig()}
		configuration["spec"] = map[string]any{"conversion": map[string]any{"webhook": webhook}}
		return &unstructured.Unstructured{Object: configuration}
	}
	var webhooks []any
	for _, webhook := range object.Object["webhooks"].([]any) {
		webhooks = append(webhooks, map[string]any{
			"name": webhook.(map[string]any)["name"], "clientConfig": clientConfig(),
		})
	}
	configuration["webhooks"] = webhooks
	return &unstructured.Unstructured{Object: configuration}
}

// checkOwners checks that the injector owns every caBundle, and nobody else does, although the installer has applied
// the objects many times.
func (r *rotation) checkOwners() {
	r.Helper()
	bundle := base64.StdEncoding.EncodeToString(r.current.bundle)
	for gvr, objects := range r.objects() {
		for _, object := range objects {
			for _, config := range clientConfigs(&object) {
				if config["caBundle"] != bundle {
					r.Errorf("%s %s has the bundle %v", gvr.Resource, object.GetName(), config["caBundle"])
				}
			}
			owners := map[string]bool{}
			for _, entry := range object.GetManagedFields() {
				if strings.Contains(entry.FieldsV1.GetRawString(), `"f:caBundle"`) {
					owners[entry.Manager] = true
				}
			}
			if len(owners) != 1 || !owners[injector] {
				r.Errorf("the bundles of %s %s belong to %v", gvr.Resource, object.GetName(), owners)
			}
		}
	}
}

// checkStranger checks that the bundle is what makes a webhook trusted: with another authority requests fail.
func (r *rotation) checkStranger() {
	r.Helper()
	trusted := r.current
	machines := r.client.Resource(samples[0].resource).Namespace(trafficNamespace)
	create := func(ctx context.Context) error {
		_, err := machines.Create(ctx, samples[0].named("stranger"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	r.trust(newAuthority(r.T, "stranger"))
	eventually(r.T, "distrust the manager", func(ctx context.Context) error {
		return contains(create(ctx), "x509: certificate signed by unknown authority")
	})
	r.trust(trusted)
	eventually(r.T, "trust the manager again", create)
}
