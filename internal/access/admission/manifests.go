package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"

	"github.com/crd-server/crd-server/internal/builtin/admissionregistration"
)

// ruleInitializer tells plugins which resources they must not see, and how they load webhooks and policies from files.
// Objects in files have the defaults and the validation of those that clients create.
type ruleInitializer struct{}

var _ admission.PluginInitializer = ruleInitializer{}

// Initialize implements admission.PluginInitializer.
func (ruleInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsExcludedAdmissionResources); ok {
		wants.SetExcludedAdmissionResources(admissionregistration.Excluded)
	}
	if wants, ok := plugin.(initializer.WantsManifestLoaders); ok {
		wants.SetManifestLoaders(&initializer.ManifestLoaders{
			LoadValidatingWebhookManifests: webhooks[*admissionregistrationv1.ValidatingWebhookConfiguration],
			LoadMutatingWebhookManifests:   webhooks[*admissionregistrationv1.MutatingWebhookConfiguration],
			LoadValidatingPolicyManifests: policies[*admissionregistrationv1.ValidatingAdmissionPolicy](
				func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName }),
			LoadMutatingPolicyManifests: policies[*admissionregistrationv1.MutatingAdmissionPolicy](
				func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName }),
		})
	}
}

// manifestDecoder is strict: unknown fields are errors.
var manifestDecoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(admissionregistrationv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, admissionregistrationv1.SchemeGroupVersion)
	scheme.AddKnownTypes(metav1.Unversioned, &metav1.List{})
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}()

// accept takes objects of one type, alone or in a list. It sets their defaults and validates them.
func accept[T metav1.Object](obj runtime.Object) (found []T, err error) {
	objects := []runtime.Object{obj}
	if meta.IsListType(obj) {
		if objects, err = meta.ExtractList(obj); err != nil {
			return nil, err
		}
	}
	for _, o := range objects {
		one, ok := o.(T)
		if !ok {
			return nil, policyloader.ErrUnrecognizedType
		}
		if errs := admissionregistration.Complete(o); len(errs) > 0 {
			return nil, fmt.Errorf("%s: %w", one.GetName(), errs.ToAggregate())
		}
		found = append(found, one)
	}
	return found, nil
}

func webhooks[T metav1.Object](dir string) ([]T, string, error) {
	return webhookloader.LoadManifests(dir, manifestDecoder, accept[T])
}

// policies returns a function that reads policies and their bindings. policyOf returns the policy of a binding.
func policies[P, B metav1.Object](policyOf func(binding B) string) func(dir string) ([]P, []B, string, error) {
	return func(dir string) ([]P, []B, string, error) {
		return policyloader.LoadPolicyManifests(dir, manifestDecoder, accept[P], accept[B], policyOf)
	}
}
