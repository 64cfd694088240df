package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everything is the flag of a server with all kinds of Kubernetes.
const everything = "--builtin-resources=all"

const (
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
	replicaSetsPath = "/apis/apps/v1/namespaces/default/replicasets"
	podsPath        = "/api/v1/namespaces/default/pods"

	podSpec = `{"containers":[{"name":"c","image":"i"}]}`
	ofPods  = `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":` +
		podSpec + `}}`
)

// createWorkload creates a Deployment, a ReplicaSet that it owns, and a Pod that the ReplicaSet owns.
func (p *person) createWorkload(name string) {
	p.t.Helper()
	owned := ""
	for _, object := range []struct{ path, kind, spec string }{
		{deploymentsPath, "Deployment", ofPods},
		{replicaSetsPath, "ReplicaSet", ofPods},
		{podsPath, "Pod", `"spec":` + podSpec},
	} {
		body := fmt.Sprintf(`{"metadata":{"name":%q%s},%s}`, name, owned, object.spec)
		created := &metav1.PartialObjectMetadata{}
		response := p.must(http.StatusCreated, http.MethodPost, object.path, body)
		if err := json.Unmarshal([]byte(response.body), created); err != nil {
			p.t.Fatal(err)
		}
		owned = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":%q,"controller":true,`+
			`"blockOwnerDeletion":true}]`, object.kind, name, created.UID)
	}
}

// TestWorkloadsAreCollected deletes Deployments with each propagation policy.
func TestWorkloadsAreCollected(t *testing.T) {
	t.Parallel()
	p := startWhole(t, everything).root()
	for _, policy := range []string{"Background", "Foreground", "Orphan"} {
		name := strings.ToLower(policy)
		p.createWorkload(name)
		p.must(http.StatusOK, http.MethodDelete, deploymentsPath+"/"+name, `{"propagationPolicy":"`+policy+`"}`)
		p.becomes(http.StatusNotFound, deploymentsPath+"/"+name, "")
		if policy == "Orphan" {
			if got := p.becomes(http.StatusOK, replicaSetsPath+"/"+name, ""); strings.Contains(got.body, "ownerReferences") {
				t.Errorf("the orphan is %s", got.body)
			}
			p.must(http.StatusOK, http.MethodGet, podsPath+"/"+name, "")
			continue
		}
		p.becomes(http.StatusNotFound, replicaSetsPath+"/"+name, "")
		p.becomes(http.StatusNotFound, podsPath+"/"+name, "")
	}
}

// TestQuotasOfWorkloads counts objects by plurals, and by the names of other resources. There is the Service
// kubernetes.
func TestQuotasOfWorkloads(t *testing.T) {
	t.Parallel()
	p := startWhole(t, everything, onlyAsked, "--disable-admission-plugins=ServiceAccount").root()
	p.createQuota("few", map[string]string{"pods": "1", "services": "1", "count/deployments.apps": "0"})
	p.must(http.StatusCreated, http.MethodPost, podsPath, `{"metadata":{"name":"a"},"spec":`+podSpec+`}`)
	p.refused(exceeds("pods", "b", "few", "pods", 1), http.MethodPost, podsPath,
		`{"metadata":{"name":"b"},"spec":`+podSpec+`}`)
	p.refused(exceeds("services", "b", "few", "services", 1), http.MethodPost, "/api/v1/namespaces/default/services",
		`{"metadata":{"name":"b"},"spec":{"ports":[{"port":80}]}}`)
	p.refused(exceeds("deployments.apps", "b", "few", "count/deployments.apps", 0), http.MethodPost, deploymentsPath,
		`{"metadata":{"name":"b"},`+ofPods+`}`)
}

// TestPodsKeepNamespace deletes a namespace with a Pod on a node, where nobody stops it. The Pod keeps the namespace
// until it is deleted at once.
func TestPodsKeepNamespace(t *testing.T) {
	t.Parallel()
	p := startWhole(t, everything).root()
	p.createNamespace("stage")
	const pods = namespacesPath + "/stage/pods"
	p.must(http.StatusCreated, http.MethodPost, pods,
		`{"metadata":{"name":"waiting"},"spec":`+podSpec+`}`)
	p.must(http.StatusCreated, http.MethodPost, pods,
		`{"metadata":{"name":"running"},"spec":{"nodeName":"n","terminationGracePeriodSeconds":3600,`+
			`"containers":[{"name":"c","image":"i"}]}}`)
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/stage", "")
	p.becomes(http.StatusOK, namespacesPath+"/stage", "Some resources are remaining: pods. has 1 resource instances")
	for _, condition := range p.namespace("stage").Status.Conditions {
		if condition.Type == corev1.NamespaceDeletionContentFailure && condition.Status != corev1.ConditionFalse {
			t.Errorf("a grace period is a failure: %+v", condition)
		}
	}
	p.must(http.StatusNotFound, http.MethodGet, pods+"/waiting", "")
	p.must(http.StatusOK, http.MethodDelete, pods+"/running", `{"gracePeriodSeconds":0}`)
	p.becomes(http.StatusNotFound, namespacesPath+"/stage", "")
}
