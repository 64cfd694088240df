package builtin_test

import (
	"runtime"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TestChecksGrowWithTheObject checks that the memory which the checks of a long object allocate grows with its length,
// not with the square of that. It does not run beside other tests, whose memory would count.
func TestChecksGrowWithTheObject(t *testing.T) {
	for _, tc := range []struct {
		resource schema.GroupResource
		object   func(length int) apiruntime.Object
	}{
		{corev1.Resource("pods"), func(length int) apiruntime.Object {
			return &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, length)}}
		}},
		{corev1.Resource("pods"), func(length int) apiruntime.Object {
			spec := corev1.PodSpec{Tolerations: make([]corev1.Toleration, length), Volumes: make([]corev1.Volume, length)}
			return &corev1.Pod{Spec: spec}
		}},
		{batchv1.Resource("jobs"), func(length int) apiruntime.Object {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "long"}}
			job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: make([]int32, length),
				},
			}}}
			return job
		}},
		{storagev1.Resource("csinodes"), func(length int) apiruntime.Object {
			return &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: make([]storagev1.CSINodeDriver, length)}}
		}},
	} {
		d := definitionOf(t, tc.resource)
		const length, times = 500, 8
		short, long := checkedBytes(t, d, tc.object(length)), checkedBytes(t, d, tc.object(times*length))
		if long > 2*times*short {
			t.Errorf("%s: %d bytes for a list of %d, %d for %d", tc.resource, short, length, long, times*length)
		}
	}
}

func definitionOf(t *testing.T, gr schema.GroupResource) *resource.Definition {
	t.Helper()
	for _, d := range builtin.All() {
		if d.GroupVersionResource().GroupResource() == gr {
			return d
		}
	}
	t.Fatalf("no %s", gr)
	return nil
}

// checkedBytes returns how many bytes are allocated while an object and an update of it are checked.
func checkedBytes(t *testing.T, d *resource.Definition, obj apiruntime.Object) uint64 {
	t.Helper()
	if d.Default != nil {
		d.Default(obj)
	}
	before := allocatedBytes()
	d.Strategy.Validate(t.Context(), obj)
	d.Strategy.ValidateUpdate(t.Context(), obj, obj.DeepCopyObject())
	return allocatedBytes() - before
}

func allocatedBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
