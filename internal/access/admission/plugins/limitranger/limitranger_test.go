package limitranger

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// list returns quantities by the names of resources, given in turns.
func list(namesAndQuantities ...string) corev1.ResourceList {
	result := corev1.ResourceList{}
	for n := 0; n < len(namesAndQuantities); n += 2 {
		result[corev1.ResourceName(namesAndQuantities[n])] = apiresource.MustParse(namesAndQuantities[n+1])
	}
	return result
}

func limitedTo(items ...corev1.LimitRangeItem) *corev1.LimitRangeSpec {
	return &corev1.LimitRangeSpec{Limits: items}
}

func container(name string, requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

// TestCheck checks a container against one limit.
func TestCheck(t *testing.T) {
	t.Parallel()
	minimum, maximum := corev1.LimitRangeItem{Min: list("cpu", "100m")}, corev1.LimitRangeItem{Max: list("cpu", "1")}
	huge := corev1.LimitRangeItem{Max: list("memory", "8Ei")}
	ratio := corev1.LimitRangeItem{MaxLimitRequestRatio: list("cpu", "2500m")}
	for _, test := range []struct {
		item             corev1.LimitRangeItem
		requests, limits corev1.ResourceList
		want             string
	}{
		{minimum, list("cpu", "100m"), nil, "[]"},
		{minimum, nil, list("cpu", "1"), "[minimum cpu usage per Container is 100m.  No request is specified]"},
		{minimum, list("cpu", "99m"), nil, "[minimum cpu usage per Container is 100m, but request is 99m]"},
		{minimum, list("cpu", "100m"), list("cpu", "50m"), "[minimum cpu usage per Container is 100m, but limit is 50m]"},
		{maximum, nil, list("cpu", "1"), "[]"},
		{maximum, list("cpu", "1"), nil, "[maximum cpu usage per Container is 1.  No limit is specified]"},
		{maximum, nil, list("cpu", "1001m"), "[maximum cpu usage per Container is 1, but limit is 1001m]"},
		{maximum, list("cpu", "2"), list("cpu", "1"), "[maximum cpu usage per Container is 1, but request is 2]"},
		{huge, list("memory", "1"), list("memory", "7Ei"), "[]"},
		{ratio, list("cpu", "100m"), list("cpu", "250m"), "[]"},
		{ratio, list("cpu", "100m"), list("cpu", "251m"),
			"[cpu max limit to request ratio per Container is 2500m, but provided ratio is 2.510000]"},
		{ratio, nil, list("cpu", "1"),
			"[cpu max limit to request ratio per Container is 2500m, but no request is specified or request is 0]"},
		{ratio, list("cpu", "0"), list("cpu", "1"),
			"[cpu max limit to request ratio per Container is 2500m, but no request is specified or request is 0]"},
		{ratio, list("cpu", "1"), nil,
			"[cpu max limit to request ratio per Container is 2500m, but no limit is specified or limit is 0]"},
		{corev1.LimitRangeItem{Min: list("memory", "2", "cpu", "2"), Max: list("cpu", "3")},
			list("cpu", "1"), list("cpu", "4"),
			"[minimum cpu usage per Container is 2, but request is 1 minimum memory usage per Container is 2.  " +
				"No request is specified maximum cpu usage per Container is 3, but limit is 4]"},
	} {
		test.item.Type = corev1.LimitTypeContainer
		pod := &corev1.Pod{}
		pod.Spec.Containers = []corev1.Container{container("c", test.requests, test.limits)}
		if got := fmt.Sprint(checkPod(limitedTo(test.item), pod)); got != test.want {
			t.Errorf("%v %v: %s, want %s", test.requests, test.limits, got, test.want)
		}
	}
}

// TestTotal checks what a whole pod requests.
func TestTotal(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("s", list("cpu", "100m"), list("cpu", "1"))
	sidecar.RestartPolicy = &always
	pod := &corev1.Pod{}
	pod.Spec.Overhead = list("cpu", "10")
	pod.Spec.Containers = []corev1.Container{
		container("a", list("cpu", "1"), list("cpu", "2", "memory", "1Mi")), container("b", list("cpu", "1"), nil),
	}
	pod.Spec.InitContainers = []corev1.Container{sidecar, container("i", list("memory", "5Mi"), list("memory", "5Mi"))}
	show := func() string {
		requests, limits := total(&pod.Spec)
		return fmt.Sprint(requests.Cpu(), requests.Memory(), limits.Cpu(), limits.Memory())
	}
	if got := show(); got != "2100m 5Mi 3 5Mi" {
		t.Errorf("the pod requests %s", got)
	}
	pod.Spec.Resources = &corev1.ResourceRequirements{
		Requests: list("cpu", "4", "hugepages-2Mi", "2Mi"), Limits: list("memory", "1Gi", "hugepages-2Mi", "2Mi"),
	}
	if got := show(); got != "4 5Mi 3 1Gi" {
		t.Errorf("with resources of its own, the pod requests %s", got)
	}
	if requests, limits := total(&pod.Spec); len(requests) != 2 || len(limits) != 2 {
		t.Errorf("huge pages of the pod count: %v, %v", requests, limits)
	}
}

// TestDefaults checks that only quantities that are left out are set, and named in the annotation.
func TestDefaults(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{container("a", list("cpu", "1"), nil), container("b", nil, nil)}
	pod.Spec.InitContainers = []corev1.Container{container("i", nil, nil)}
	limits := limitedTo(
		corev1.LimitRangeItem{Type: corev1.LimitTypePod, Default: list("cpu", "9")},
		corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, DefaultRequest: list("memory", "1", "cpu", "2")},
		corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: list("cpu", "3"), DefaultRequest: list("cpu", "3")},
	)
	addDefaults(limits, pod)
	want := "LimitRanger plugin set: memory request for container a; cpu limit for container a; " +
		"cpu, memory request for container b; cpu limit for container b; " +
		"cpu, memory request for init container i; cpu limit for init container i"
	if got := pod.Annotations[annotation]; got != want {
		t.Errorf("the annotation is %q", got)
	}
	a, b := &pod.Spec.Containers[0].Resources, &pod.Spec.Containers[1].Resources
	if a.Requests.Cpu().String() != "1" || b.Requests.Cpu().String() != "3" || a.Limits.Cpu().String() != "3" {
		t.Errorf("the containers have %v and %v", a, b)
	}
	complete := pod.DeepCopy()
	complete.Annotations = nil
	if addDefaults(limits, complete); complete.Annotations != nil {
		t.Errorf("a complete pod gets %v", complete.Annotations)
	}
}

// TestScope checks which writes the plugins are for: in the namespace of the object, and not for all updates.
func TestScope(t *testing.T) {
	t.Parallel()
	ranges := Ranges(func(_ context.Context, namespace string) ([]*corev1.LimitRange, error) {
		if namespace != "ns" {
			return nil, nil
		}
		everything := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Max: list("cpu", "0")}
		claims := corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: list("storage", "1")}
		return []*corev1.LimitRange{{Spec: *limitedTo(everything, claims)}}, nil
	})
	created, resized := ForPods(ranges)[0], ForPods(ranges)[1]
	pod := func(namespace string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: corev1.PodSpec{Containers: []corev1.Container{container("c", nil, list("cpu", "1"))}}}
	}
	ending := pod("ns")
	ending.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	claim.Spec.Resources.Requests = list("storage", "2")
	for name, test := range map[string]struct {
		validate func(context.Context, runtime.Object, runtime.Object) error
		obj, old runtime.Object
		refused  bool
	}{
		"a new pod":                  {created.Validate, pod("ns"), nil, true},
		"a pod of another namespace": {created.Validate, pod("other"), nil, false},
		"a changed pod":              {created.Validate, pod("ns"), pod("ns"), false},
		"a resized pod":              {resized.Validate, pod("ns"), pod("ns"), true},
		"a resized pod that ends":    {resized.Validate, pod("ns"), ending, false},
		"a new claim":                {ForClaims(ranges).Validate, claim, nil, true},
		"a changed claim":            {ForClaims(ranges).Validate, claim, claim, true},
	} {
		if err := test.validate(t.Context(), test.obj, test.old); test.refused != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if resized.Subresource != "resize" || created.Subresource != "" {
		t.Errorf("the plugins are for %q and %q", created.Subresource, resized.Subresource)
	}
}
