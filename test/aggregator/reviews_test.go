package aggregator

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// reviewGroups are the groups of reviews, which crd-server answers and does not register.
var reviewGroups = []string{"authentication.k8s.io", "authorization.k8s.io"}

// registerReviews makes the aggregator send reviews to crd-server, as the operator of an aggregator without a cluster
// does.
func (i *installation) registerReviews() {
	i.Helper()
	for _, group := range reviewGroups {
		service := somebodysService("v1", group)
		service.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: serviceNamespace, Name: serviceName}
		service.Spec.CABundle, service.Spec.InsecureSkipTLSVerify = i.serving.pem(), false
		if _, err := i.services().Create(i.Context(), service, metav1.CreateOptions{}); err != nil {
			i.Fatal(err)
		}
		i.available(service.Name)
	}
}

// TestReviews checks that an aggregator in front of crd-server serves reviews, their discovery and OpenAPI.
func TestReviews(t *testing.T) {
	t.Parallel()
	i := prepare(t)
	i.start()
	i.registerReviews()
	i.eventuallyDiscovered(reviewGroups...)
	i.eventuallyExplained("authentication.k8s.io/v1", "authorization.k8s.io/v1")
	if user := i.whoAmI(); !strings.Contains(user, `"username":"admin"`) {
		t.Error(user)
	}
	for _, group := range reviewGroups {
		body, err := i.read(t.Context(), "/apis/"+group+"/v1", "application/json")
		if err != nil || !strings.Contains(string(body), `"verbs":["create"]`) {
			t.Errorf("%s: %v\n%s", group, err, body)
		}
	}
}

// whoAmI asks the aggregator for a review of the user of the test.
func (i *installation) whoAmI() string {
	i.Helper()
	answer, err := i.admin.Discovery().RESTClient().Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		SetHeader("Content-Type", "application/json").Body([]byte("{}")).DoRaw(i.Context())
	if err != nil {
		i.Fatal(err)
	}
	return string(answer)
}

// TestReviewsOfHost checks that crd-server does not list reviews if its host cluster serves them, and that it is
// available for them nevertheless, because it answers them.
func TestReviewsOfHost(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.registerReviews()
	if user := i.whoAmI(); !strings.Contains(user, `"username":"admin"`) {
		t.Error(user)
	}
	direct := i.kubectl(i.server.Kubeconfig)
	for _, group := range reviewGroups {
		if groups := direct.run("get", "--raw", "/apis"); strings.Contains(groups, group) {
			t.Errorf("%s is listed: %s", group, groups)
		}
		if paths := direct.run("get", "--raw", "/openapi/v3"); strings.Contains(paths, group) {
			t.Errorf("%s has a document: %s", group, paths)
		}
		for _, path := range []string{"/apis/" + group, "/apis/" + group + "/v1"} {
			if answer := direct.run("get", "--raw", path); !strings.Contains(answer, group+"/v1") {
				t.Errorf("%s: %s", path, answer)
			}
		}
	}
}
