// Package podsecurity is the admission plugin PodSecurity: it refuses pods that violate the Pod Security Standard that
// the labels of their namespace name, and warns about templates of such pods.
//
// The rules are those of k8s.io/pod-security-admission. This package asks them about writes, and answers as
// kube-apiserver does.
package podsecurity

import (
	"context"
	"fmt"
	"io"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/warning"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/metrics/legacyregistry"
	podsecurity "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "PodSecurity"

// Namespaces returns a namespace.
type Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

// GetNamespace implements podsecurity.NamespaceGetter.
func (f Namespaces) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return f(ctx, name)
}

// Pods returns the pods of a namespace.
type Pods func(ctx context.Context, namespace string) ([]*corev1.Pod, error)

// ListPods implements podsecurity.PodLister.
func (f Pods) ListPods(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
	return f(ctx, namespace)
}

// New returns the plugins for namespaces, and for those of the definitions that have pods. The reader has a
// PodSecurityConfiguration; it is nil for the defaults. Errors are those of the configuration.
func New(
	definitions []*resource.Definition, configuration io.Reader, namespaces Namespaces, pods Pods,
) (all []resource.Plugin, err error) {
	config, err := load.LoadFromReader(configuration)
	if err != nil {
		return nil, err
	}
	version := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	emulated := version.EmulationVersion()
	latest := api.MajorMinorVersion(int(emulated.Major()), int(emulated.Minor())) // what "latest" means
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), &latest)
	if err != nil {
		return nil, err
	}
	admission := &podsecurity.Admission{
		Configuration: config, Evaluator: evaluator, Metrics: recorder(), NamespaceGetter: namespaces, PodLister: pods,
	}
	if err := admission.CompleteConfiguration(); err != nil {
		return nil, fmt.Errorf("configuration error: %w", err)
	}
	if err := admission.ValidateConfiguration(); err != nil {
		return nil, fmt.Errorf("invalid: %w", err)
	}
	for _, d := range definitions {
		all = append(all, plugins(admission, d)...)
	}
	return all, nil
}

// recorder returns the metrics, which all servers of the process have in common, as those of admission.
var recorder = sync.OnceValue(func() metrics.Recorder {
	r := metrics.NewPrometheusRecorder(api.GetAPIVersion())
	r.MustRegister(legacyregistry.MustRegister)
	return r
})

// plugins returns the plugins for a resource: none if it has no pods.
func plugins(a *podsecurity.Admission, d *resource.Definition) []resource.Plugin {
	switch gr := d.GroupVersionResource().GroupResource(); {
	case gr == corev1.Resource("pods"):
		return []resource.Plugin{plugin(a, d, ""), plugin(a, d, "ephemeralcontainers"), plugin(a, d, "resize")}
	case gr == corev1.Resource("namespaces"), a.PodSpecExtractor.HasPodSpec(gr):
		return []resource.Plugin{plugin(a, d, "")}
	}
	return nil
}

func plugin(a *podsecurity.Admission, d *resource.Definition, subresource string) resource.Plugin {
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		m := obj.(metav1.Object)
		attributes := &api.AttributesRecord{
			Name: m.GetName(), Namespace: m.GetNamespace(), Kind: d.GroupVersionKind(), Resource: d.GroupVersionResource(),
			Subresource: subresource, Operation: admissionv1.Create, Object: obj, OldObject: old,
		}
		if !d.Namespaced {
			attributes.Namespace = attributes.Name // a namespace is in itself
		}
		if old != nil {
			attributes.Operation = admissionv1.Update
		}
		if user, ok := request.UserFrom(ctx); ok {
			attributes.Username = user.GetName()
		}
		return answer(ctx, a.Validate(ctx, attributes))
	}
	resourceOf := d.GroupVersionResource().GroupResource()
	return resource.Plugin{Name: Name, Resource: resourceOf, Subresource: subresource, Validate: validate}
}

// answer passes on the warnings and annotations of a decision, and returns its error.
func answer(ctx context.Context, decision *admissionv1.AdmissionResponse) error {
	for _, text := range decision.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	for key, value := range decision.AuditAnnotations {
		audit.AddAuditAnnotation(ctx, api.AuditAnnotationPrefix+key, value)
	}
	if decision.Allowed {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *decision.Result}
}
