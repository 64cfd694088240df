package evaluators

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodUsage checks what Pods use.
func TestPodUsage(t *testing.T) {
	t.Parallel()
	const one = "count/pods=1 pods=1"
	for title, tt := range map[string]struct{ pod, want string }{
		"nothing": {`spec: {containers: [{name: a}]}`, one},
		"requests and limits": {
			`spec: {containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 2Gi}}},
			{name: b, resources: {requests: {cpu: 250m, ephemeral-storage: 5G}, limits: {ephemeral-storage: 6G}}}]}`,
			"count/pods=1 cpu=750m ephemeral-storage=5G limits.cpu=1 limits.ephemeral-storage=6G limits.memory=2Gi " +
				"memory=1Gi pods=1 requests.cpu=750m requests.ephemeral-storage=5G requests.memory=1Gi",
		},
		"huge pages": {
			`spec: {containers: [{name: a, resources: {requests: {hugepages-2Mi: 4Mi}, limits: {hugepages-2Mi: 4Mi}}}]}`,
			"count/pods=1 hugepages-2Mi=4Mi pods=1 requests.hugepages-2Mi=4Mi",
		},
		"devices": {
			`spec: {containers: [{name: a, resources: {requests: {example.com/gpu: 2,
			deviceclass.resource.kubernetes.io/nic: 1, kubernetes.io/odd: 3}}}]}`,
			one + " requests.deviceclass.resource.kubernetes.io/nic=1 requests.example.com/gpu=2",
		},
		"init containers run before, a sidecar all the time": {
			`spec: {initContainers: [{name: i, resources: {requests: {cpu: 3}}},
			{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}],
			containers: [{name: a, resources: {requests: {cpu: 1}}}]}`,
			"count/pods=1 cpu=3 pods=1 requests.cpu=3",
		},
		"overhead": {
			`spec: {overhead: {cpu: 100m}, containers: [{name: a, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}]}`,
			"count/pods=1 cpu=1100m limits.cpu=1100m pods=1 requests.cpu=1100m",
		},
		"the Pod as a whole": {
			`spec: {resources: {requests: {cpu: 4}, limits: {cpu: 5}},
			containers: [{name: a, resources: {requests: {cpu: 1}}}]}`,
			"count/pods=1 cpu=4 limits.cpu=5 pods=1 requests.cpu=4",
		},
		"a resize that the node has not done": {
			`{spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]},
			status: {containerStatuses: [{name: a, ready: true, restartCount: 0, image: "", imageID: "",
			allocatedResources: {cpu: 2}, resources: {requests: {cpu: 2}}}]}}`,
			"count/pods=1 cpu=2 pods=1 requests.cpu=2",
		},
		"succeeded": {`{spec: {containers: [{name: a}]}, status: {phase: Succeeded}}`, "count/pods=1"},
		"failed":    {`{spec: {containers: [{name: a}]}, status: {phase: Failed}}`, "count/pods=1"},
		"being deleted": {
			`metadata: {deletionTimestamp: "2999-01-01T00:00:00Z", deletionGracePeriodSeconds: 30}`, one,
		},
		"left by its node": {
			`metadata: {deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 30}`, "count/pods=1",
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			uses(t, pods, decode[corev1.Pod](t, tt.pod), tt.want)
		})
	}
}

// TestPodScopes checks in which scopes Pods are.
func TestPodScopes(t *testing.T) {
	t.Parallel()
	scopes := map[string]corev1.ScopedResourceSelectorRequirement{
		"In":           {ScopeName: "PriorityClass", Operator: "In", Values: []string{"high", "low"}},
		"NotIn":        {ScopeName: "PriorityClass", Operator: "NotIn", Values: []string{"high"}},
		"Exists":       {ScopeName: "PriorityClass", Operator: "Exists"},
		"DoesNotExist": {ScopeName: "PriorityClass", Operator: "DoesNotExist"},
	}
	for _, name := range []string{
		"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity", "VolumeAttributesClass",
	} {
		scope := corev1.ResourceQuotaScope(name)
		scopes[name] = corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: "Exists"}
	}
	const unselected = "NotTerminating BestEffort NotIn DoesNotExist"
	for title, tt := range map[string]struct{ spec, want string }{
		"nothing":  {`{}`, unselected},
		"deadline": {`{activeDeadlineSeconds: 0}`, "Terminating BestEffort NotIn DoesNotExist"},
		"requests": {
			`{containers: [{name: a, resources: {requests: {cpu: 1}}}]}`, "NotTerminating NotBestEffort NotIn DoesNotExist",
		},
		"high":  {`{priorityClassName: high}`, "NotTerminating BestEffort In Exists"},
		"low":   {`{priorityClassName: low}`, "NotTerminating BestEffort In NotIn Exists"},
		"other": {`{priorityClassName: other}`, "NotTerminating BestEffort NotIn Exists"},
		"affinity": {
			`{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: k}]}}}`, unselected,
		},
		"namespaces": {
			`{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
			{topologyKey: k, namespaces: [a]}]}}}`, unselected + " CrossNamespacePodAffinity",
		},
		"all namespaces": {
			`{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
			{weight: 1, podAffinityTerm: {topologyKey: k, namespaceSelector: {}}}]}}}`,
			unselected + " CrossNamespacePodAffinity",
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{Spec: *decode[corev1.PodSpec](t, tt.spec)}
			for name, scope := range scopes {
				found, err := pods.MatchingScopes(pod, []corev1.ScopedResourceSelectorRequirement{scope})
				if err != nil {
					t.Fatal(err)
				}
				if want := strings.Contains(" "+tt.want+" ", " "+name+" "); (len(found) > 0) != want {
					t.Errorf("scope %s: %t, want %t", name, len(found) > 0, want)
				}
			}
		})
	}
}

// TestPodConstraints checks what containers must specify if a quota has all names.
func TestPodConstraints(t *testing.T) {
	t.Parallel()
	for title, tt := range map[string]struct{ spec, want string }{
		"all": {
			`{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1, memory: 1}}}]}`, "",
		},
		"limit": {
			`{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1}, limits: {memory: 1}}}]}`,
			"must specify limits.cpu for: a",
		},
		"nothing": {
			`{initContainers: [{name: a}], containers: [{name: b}]}`, "must specify cpu for: a,b; limits.cpu for: a,b; " +
				"limits.memory for: a,b; memory for: a,b; requests.cpu for: a,b; requests.memory for: a,b",
		},
		"the Pod as a whole": {`{resources: {requests: {cpu: 1}}, containers: [{name: a}]}`, ""},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			names := append([]corev1.ResourceName{"pods", "requests.ephemeral-storage"}, required...)
			err := pods.Constraints(names, &corev1.Pod{Spec: *decode[corev1.PodSpec](t, tt.spec)})
			if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
