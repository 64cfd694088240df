package admission

import (
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"

	rules "github.com/crd-server/crd-server/internal/builtin/admissionregistration"
)

// manifests reads the manifests of webhooks and policies. Objects in files have the defaults and the validation of
// those that clients create.
type manifests struct{}

var _ admission.PluginInitializer = manifests{}

// Initialize sets the loader of a plugin's manifests.
func (manifests) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsManifestLoaders); ok {
		wants.SetManifestLoaders(&initializer.ManifestLoaders{
			LoadValidatingWebhookManifests: validatingWebhooks,
			LoadMutatingWebhookManifests:   mutatingWebhooks,
			LoadValidatingPolicyManifests:  validatingPolicies,
			LoadMutatingPolicyManifests:    mutatingPolicies,
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

// errNoWebhook: a directory of webhooks has an object of another kind.
var errNoWebhook = errors.New("unsupported resource type")

// accept returns a function that takes objects of one type, alone or in a list. complete applies defaults and
// validates.
func accept[T any, L any](
	unrecognized error, items func(*L) []T, complete func(*T) error,
) func(runtime.Object) ([]*T, error) {
	return func(obj runtime.Object) ([]*T, error) {
		var found []*T
		switch o := any(obj).(type) {
		case *T:
			found = []*T{o}
		case *L:
			all := items(o)
			for n := range all {
				found = append(found, &all[n])
			}
		default:
			return nil, unrecognized
		}
		for _, one := range found {
			if err := complete(one); err != nil {
				return nil, err
			}
		}
		return found, nil
	}
}

func validatingWebhooks(dir string) ([]*admissionregistrationv1.ValidatingWebhookConfiguration, string, error) {
	return webhookloader.LoadManifests(dir, manifestDecoder, accept(errNoWebhook,
		func(l *admissionregistrationv1.ValidatingWebhookConfigurationList,
		) []admissionregistrationv1.ValidatingWebhookConfiguration {
			return l.Items
		},
		func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
			rules.DefaultValidatingWebhooks(c)
			return inManifest(c.Name, rules.ValidateValidatingWebhooks(c))
		}))
}

func mutatingWebhooks(dir string) ([]*admissionregistrationv1.MutatingWebhookConfiguration, string, error) {
	return webhookloader.LoadManifests(dir, manifestDecoder, accept(errNoWebhook,
		func(l *admissionregistrationv1.MutatingWebhookConfigurationList,
		) []admissionregistrationv1.MutatingWebhookConfiguration {
			return l.Items
		},
		func(c *admissionregistrationv1.MutatingWebhookConfiguration) error {
			rules.DefaultMutatingWebhooks(c)
			return inManifest(c.Name, rules.ValidateMutatingWebhooks(c))
		}))
}

func validatingPolicies(dir string) ([]*admissionregistrationv1.ValidatingAdmissionPolicy,
	[]*admissionregistrationv1.ValidatingAdmissionPolicyBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, manifestDecoder,
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.ValidatingAdmissionPolicyList) []admissionregistrationv1.ValidatingAdmissionPolicy {
				return l.Items
			},
			func(p *admissionregistrationv1.ValidatingAdmissionPolicy) error {
				rules.DefaultValidatingPolicy(p)
				return inManifest(p.Name, rules.ValidateValidatingPolicy(p))
			}),
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.ValidatingAdmissionPolicyBindingList,
			) []admissionregistrationv1.ValidatingAdmissionPolicyBinding {
				return l.Items
			},
			func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
				rules.DefaultValidatingBinding(b)
				return inManifest(b.Name, rules.ValidateValidatingBinding(b))
			}),
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
}

func mutatingPolicies(dir string) ([]*admissionregistrationv1.MutatingAdmissionPolicy,
	[]*admissionregistrationv1.MutatingAdmissionPolicyBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, manifestDecoder,
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.MutatingAdmissionPolicyList) []admissionregistrationv1.MutatingAdmissionPolicy {
				return l.Items
			},
			func(p *admissionregistrationv1.MutatingAdmissionPolicy) error {
				rules.DefaultMutatingPolicy(p)
				return inManifest(p.Name, rules.ValidateMutatingPolicy(p))
			}),
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.MutatingAdmissionPolicyBindingList,
			) []admissionregistrationv1.MutatingAdmissionPolicyBinding {
				return l.Items
			},
			func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) error {
				rules.DefaultMutatingBinding(b)
				return inManifest(b.Name, rules.ValidateMutatingBinding(b))
			}),
		func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
}

// inManifest returns the errors of an object in a manifest as one; nil without errors.
func inManifest(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", name, errs.ToAggregate())
}
