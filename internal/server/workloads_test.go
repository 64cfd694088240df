package server

import (
	"net/http"
	"strings"
	"testing"
)

const budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

// startAll starts a server with all built-in resources and no controllers.
func startAll(t *testing.T) *person {
	t.Helper()
	return startWhole(t, "--builtin-resources=all", "--controllers=-namespace-controller",
		"--disable-admission-plugins=ServiceAccount").root()
}

func podJSON(name string) string {
	return `{"metadata":{"name":"` + name + `","labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`
}

// expect fails the test unless the answer has all texts.
func (a answer) expect(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("no %s in %.2000s", text, a.body)
		}
	}
}

// TestDeployments writes a Deployment, its status and its Scale.
func TestDeployments(t *testing.T) {
	t.Parallel()
	p := startAll(t)
	p.must(http.StatusCreated, http.MethodPost, deploymentsPath,
		`{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"x"}},"template":`+podJSON("")+`}}`).
		expect(t, `"generation":1`, `"progressDeadlineSeconds":600`, `"maxSurge":"25%"`)
	path := deploymentsPath + "/d"
	p.must(http.StatusOK, http.MethodPatch, path+"/status", `{"status":{"replicas":1},"spec":{"replicas":5}}`,
		mergePatch...).expect(t, `"generation":1`, `"replicas":1`)
	p.must(http.StatusOK, http.MethodPatch, path+"/scale", `{"spec":{"replicas":3}}`, mergePatch...).
		expect(t, `"kind":"Scale"`, `"selector":"app=x"`, `"spec":{"replicas":3}`)
	p.must(http.StatusOK, http.MethodGet, path, "").expect(t, `"generation":2`, `"subresource":"scale"`)
	p.must(http.StatusUnprocessableEntity, http.MethodPatch, path, `{"spec":{"selector":{"matchLabels":{"app":"y"}}}}`,
		mergePatch...).expect(t, "field is immutable", "`selector` does not match template `labels`")
}

// TestPods binds a pod to a node, deletes it with a grace period, and evicts another one when a budget allows it.
func TestPods(t *testing.T) {
	t.Parallel()
	p := startAll(t)
	for _, name := range []string{"a", "b", "c"} {
		p.must(http.StatusCreated, http.MethodPost, podsPath, podJSON(name)).
			expect(t, `"phase":"Pending"`, `"qosClass":"BestEffort"`, `"priority":0`, "node.kubernetes.io/not-ready")
	}
	binding := `{"metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`
	p.must(http.StatusCreated, http.MethodPost, podsPath+"/a/binding", binding)
	p.must(http.StatusConflict, http.MethodPost, podsPath+"/a/binding", binding)
	p.must(http.StatusOK, http.MethodDelete, podsPath+"/a", "").expect(t, `"deletionGracePeriodSeconds":30`)
	p.must(http.StatusOK, http.MethodGet, podsPath+"/a", "").expect(t, `"nodeName":"n"`)
	p.must(http.StatusOK, http.MethodDelete, podsPath+"/a?gracePeriodSeconds=0", "")
	p.must(http.StatusNotFound, http.MethodGet, podsPath+"/a", "")
	p.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces/default/bindings",
		strings.Replace(binding, `"a"`, `"c"`, 1))

	p.must(http.StatusCreated, http.MethodPost, budgetsPath,
		`{"metadata":{"name":"w"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}}`)
	p.must(http.StatusOK, http.MethodPatch, podsPath+"/b/status",
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, mergePatch...)
	eviction := `{"metadata":{"name":"b"}}`
	p.must(http.StatusTooManyRequests, http.MethodPost, podsPath+"/b/eviction", eviction).expect(t, "DisruptionBudget")
	p.must(http.StatusOK, http.MethodPatch, budgetsPath+"/w/status",
		`{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}`,
		mergePatch...)
	p.must(http.StatusCreated, http.MethodPost, podsPath+"/b/eviction?dryRun=All", eviction)
	p.must(http.StatusCreated, http.MethodPost, podsPath+"/b/eviction", eviction)
	p.must(http.StatusNotFound, http.MethodGet, podsPath+"/b", "")
	p.must(http.StatusOK, http.MethodGet, budgetsPath+"/w", "").expect(t, `"disruptionsAllowed":0`, `"disruptedPods":{"b"`)
}

// TestPriorityClasses checks that the classes of system pods exist, and that pods get their priority.
func TestPriorityClasses(t *testing.T) {
	t.Parallel()
	p := startAll(t)
	class := strings.Replace(podJSON("s"), `"spec":{`, `"spec":{"priorityClassName":"system-node-critical",`, 1)
	p.must(http.StatusCreated, http.MethodPost, podsPath, class).expect(t, `"priority":2000001000`)
	p.must(http.StatusForbidden, http.MethodPost, podsPath, strings.Replace(class, "system-node", "system-x", 1))
}
