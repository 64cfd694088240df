package aggregator

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// pollInterval is the interval of eventually.
const pollInterval = 50 * time.Millisecond

// eventually polls until a condition holds, and reports what is missing if it does not.
func (i *installation) eventually(what string, holds func(context.Context) (missing string, err error)) {
	i.Helper()
	var missing string
	err := wait.PollUntilContextTimeout(i.Context(), pollInterval, patience, true,
		func(ctx context.Context) (_ bool, err error) {
			missing, err = holds(ctx)
			return missing == "", err
		})
	if err != nil {
		i.Fatalf("%s: %v (%s)", what, err, missing)
	}
}

// services are the APIServices of the host cluster.
func (i *installation) services() registration.APIServiceInterface {
	return i.admin.ApiregistrationV1().APIServices()
}

// available waits until APIServices are available and the aggregator proxies to them, which it learns separately.
func (i *installation) available(names ...string) {
	i.Helper()
	for _, name := range names {
		i.eventually("APIService "+name+" is available", func(ctx context.Context) (string, error) {
			found, err := i.services().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return "there is none", nil
			}
			if err != nil {
				return "", err
			}
			if condition := helper.GetAPIServiceConditionByType(found, apiregistrationv1.Available); condition == nil {
				return "no condition", nil
			} else if condition.Status != apiregistrationv1.ConditionTrue {
				return condition.Message, nil
			}
			_, err = i.read(ctx, "/apis/"+found.Spec.Group+"/"+found.Spec.Version, "application/json")
			if apierrors.IsServiceUnavailable(err) || apierrors.IsNotFound(err) {
				return err.Error(), nil
			}
			return "", err
		})
	}
}

// gone waits until APIServices are deleted.
func (i *installation) gone(name string) {
	i.Helper()
	i.eventually("APIService "+name+" is gone", func(ctx context.Context) (string, error) {
		_, err := i.services().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
}

// read reads a path of the host.
func (i *installation) read(ctx context.Context, path, accept string) ([]byte, error) {
	return i.admin.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(ctx)
}

// eventuallyDiscovered waits until the aggregator's discovery has groups of crd-server.
func (i *installation) eventuallyDiscovered(groups ...string) {
	i.Helper()
	for _, group := range groups {
		i.eventually("group "+group+" is discovered", func(ctx context.Context) (string, error) {
			body, err := i.read(ctx, "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			if err != nil {
				return "", err
			}
			var list apidiscovery.APIGroupDiscoveryList
			if err := json.Unmarshal(body, &list); err != nil {
				return "", err
			}
			for _, found := range list.Items {
				if found.Name == group && found.Versions[0].Freshness == apidiscovery.DiscoveryFreshnessCurrent &&
					len(found.Versions[0].Resources) > 0 {
					return "", nil
				}
			}
			return string(body), nil
		})
	}
}

// eventuallyExplained waits until the aggregator's OpenAPI v2 and v3 have versions of crd-server.
func (i *installation) eventuallyExplained(versions ...string) {
	i.Helper()
	for _, version := range versions {
		i.eventually("OpenAPI v3 has "+version, func(ctx context.Context) (string, error) {
			index, err := i.read(ctx, "/openapi/v3", "application/json")
			if err != nil || !strings.Contains(string(index), `"apis/`+version+`"`) {
				return string(index), err
			}
			return "", nil
		})
		i.eventually("OpenAPI v2 has "+version, func(ctx context.Context) (string, error) {
			document, err := i.read(ctx, "/openapi/v2", "application/json")
			if err != nil || !strings.Contains(string(document), `"/apis/`+version+`/`) {
				return "it has not", err
			}
			return "", nil
		})
	}
}

// TestRegistration checks that APIServices are created and deleted with CRDs, and that others are left alone.
func TestRegistration(t *testing.T) {
	t.Parallel()
	i := install(t)
	direct := i.kubectl(i.server.Kubeconfig)
	foreign, err := i.services().Create(t.Context(), somebodysService("v1", "data.example.com"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	direct.run("apply", "-f", samples)
	i.available("v1.infra.example.com", "v1.stable.example.com", "v1.web.example.com", "v1beta1.web.example.com")
	found, err := i.services().Get(t.Context(), "v1.web.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(found.Spec.CABundle) != string(i.serving.pem()) || found.Spec.Service.Name != serviceName ||
		found.Spec.InsecureSkipTLSVerify {
		t.Errorf("APIService %s: %+v", found.Name, found.Spec)
	}

	ours, err := i.services().List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/managed-by=crd-server",
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range ours.Items {
		names = append(names, service.Name)
	}
	slices.Sort(names)
	if want := []string{"v1.infra.example.com", "v1.stable.example.com", "v1.web.example.com",
		"v1beta1.web.example.com"}; !slices.Equal(names, want) {
		t.Errorf("registered are %q, not %q", names, want)
	}

	direct.run("patch", "crd", "websites.web.example.com", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/versions/1/served","value":false}]`)
	i.gone("v1beta1.web.example.com")
	i.available("v1.web.example.com")

	if err := i.services().Delete(t.Context(), "v1.web.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	i.available("v1.web.example.com") // again

	direct.run("delete", "crd", "crontabs.stable.example.com", "databases.data.example.com")
	i.gone("v1.stable.example.com")
	kept, err := i.services().Get(t.Context(), foreign.Name, metav1.GetOptions{})
	if err != nil || kept.UID != foreign.UID || kept.Spec.Service.Name != foreign.Spec.Service.Name {
		t.Errorf("the APIService of another owner has changed: %+v, %v", kept, err)
	}
}

// somebodysService is an APIService that crd-server did not create.
func somebodysService(version, group string) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: version, GroupPriorityMinimum: 1, VersionPriority: 1, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "elsewhere", Name: "another"},
		},
	}
}

// TestDocuments checks that the aggregator's discovery and OpenAPI documents contain the groups of crd-server, follow
// their changes, and keep the aggregator's own.
func TestDocuments(t *testing.T) {
	t.Parallel()
	i := install(t)
	direct := i.kubectl(i.server.Kubeconfig)
	direct.run("apply", "-f", samples)
	i.available("v1.stable.example.com", "v1.web.example.com", "v1beta1.web.example.com")
	i.eventuallyDiscovered("apiregistration.k8s.io", "stable.example.com", "web.example.com")
	i.eventuallyExplained("apiregistration.k8s.io/v1", "stable.example.com/v1", "web.example.com/v1",
		"web.example.com/v1beta1")

	_, lists, err := i.admin.Discovery().ServerGroupsAndResources() // without a part that fails
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, list := range lists {
		for _, resource := range list.APIResources {
			resources = append(resources, list.GroupVersion+"/"+resource.Name)
		}
	}
	for _, want := range []string{
		"apiregistration.k8s.io/v1/apiservices", "stable.example.com/v1/crontabs",
		"stable.example.com/v1/crontabs/scale",
		"web.example.com/v1beta1/websites/status",
	} {
		if !slices.Contains(resources, want) {
			t.Errorf("discovery has no %s: %v", want, resources)
		}
	}
	document, err := i.read(t.Context(), "/openapi/v3/apis/stable.example.com/v1", "application/json")
	if err != nil || !strings.Contains(string(document), "When the job runs, in cron's notation") {
		t.Errorf("OpenAPI v3 of CronTabs: %v\n%s", err, document)
	}
	schema, err := i.admin.Discovery().OpenAPISchema() // as a protocol buffer
	if err != nil {
		t.Fatal(err)
	}
	named := func(definition *openapi_v2.NamedSchema) bool { return definition.Name == "com.example.web.v1.Website" }
	if !slices.ContainsFunc(schema.Definitions.AdditionalProperties, named) {
		t.Error("OpenAPI v2 has no definition of Websites")
	}
}
