package admission

import (
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"
)

// manifests reads the manifests of webhooks and policies. The plugins check that expressions compile and that names
// are unique. manifests applies the defaults and the validation of kube-apiserver's endpoints.
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
func accept[T any, L any](unrecognized error, items func(*L) []T, complete func(*T) error) func(runtime.Object) ([]*T, error) {
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
		func(l *admissionregistrationv1.ValidatingWebhookConfigurationList) []admissionregistrationv1.ValidatingWebhookConfiguration {
			return l.Items
		},
		func(c *admissionregistrationv1.ValidatingWebhookConfiguration) error {
			for n := range c.Webhooks {
				w := &c.Webhooks[n]
				setWebhookDefaults(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds)
				setScopes(w.Rules)
				if err := checkWebhook(w.Name, w.SideEffects, w.AdmissionReviewVersions); err != nil {
					return err
				}
			}
			return nil
		}))
}

func mutatingWebhooks(dir string) ([]*admissionregistrationv1.MutatingWebhookConfiguration, string, error) {
	return webhookloader.LoadManifests(dir, manifestDecoder, accept(errNoWebhook,
		func(l *admissionregistrationv1.MutatingWebhookConfigurationList) []admissionregistrationv1.MutatingWebhookConfiguration {
			return l.Items
		},
		func(c *admissionregistrationv1.MutatingWebhookConfiguration) error {
			for n := range c.Webhooks {
				w := &c.Webhooks[n]
				setWebhookDefaults(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds)
				setDefault(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
				setScopes(w.Rules)
				if err := checkWebhook(w.Name, w.SideEffects, w.AdmissionReviewVersions); err != nil {
					return err
				}
			}
			return nil
		}))
}

func validatingPolicies(dir string) ([]*admissionregistrationv1.ValidatingAdmissionPolicy, []*admissionregistrationv1.ValidatingAdmissionPolicyBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, manifestDecoder,
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.ValidatingAdmissionPolicyList) []admissionregistrationv1.ValidatingAdmissionPolicy {
				return l.Items
			},
			func(p *admissionregistrationv1.ValidatingAdmissionPolicy) error {
				setDefault(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
				setMatchDefaults(p.Spec.MatchConstraints)
				if len(p.Spec.Validations)+len(p.Spec.AuditAnnotations) == 0 {
					return fmt.Errorf("%s: validations or auditAnnotations must be specified", p.Name)
				}
				return checkConstraints(p.Name, p.Spec.MatchConstraints)
			}),
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.ValidatingAdmissionPolicyBindingList) []admissionregistrationv1.ValidatingAdmissionPolicyBinding {
				return l.Items
			},
			func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
				setMatchDefaults(b.Spec.MatchResources)
				if len(b.Spec.ValidationActions) == 0 {
					return fmt.Errorf("%s: validationActions must be specified", b.Name)
				}
				return nil
			}),
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
}

func mutatingPolicies(dir string) ([]*admissionregistrationv1.MutatingAdmissionPolicy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, manifestDecoder,
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.MutatingAdmissionPolicyList) []admissionregistrationv1.MutatingAdmissionPolicy {
				return l.Items
			},
			func(p *admissionregistrationv1.MutatingAdmissionPolicy) error {
				setDefault(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
				if p.Spec.ReinvocationPolicy == "" {
					p.Spec.ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy
				}
				setMatchDefaults(p.Spec.MatchConstraints)
				if len(p.Spec.Mutations) == 0 {
					return fmt.Errorf("%s: mutations must be specified", p.Name)
				}
				return checkConstraints(p.Name, p.Spec.MatchConstraints)
			}),
		accept(policyloader.ErrUnrecognizedType,
			func(l *admissionregistrationv1.MutatingAdmissionPolicyBindingList) []admissionregistrationv1.MutatingAdmissionPolicyBinding {
				return l.Items
			},
			func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) error {
				setMatchDefaults(b.Spec.MatchResources)
				return nil
			}),
		func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
}

// setDefault sets a missing value.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// webhookTimeout is the default timeout of a webhook, in seconds.
const webhookTimeout int32 = 10

func setWebhookDefaults(failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType,
	namespaces, objects **metav1.LabelSelector, timeout **int32) {
	setDefault(failure, admissionregistrationv1.Fail)
	setDefault(match, admissionregistrationv1.Equivalent)
	setDefault(namespaces, metav1.LabelSelector{})
	setDefault(objects, metav1.LabelSelector{})
	setDefault(timeout, webhookTimeout)
}

func setMatchDefaults(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for n := range rules {
			setDefault(&rules[n].Scope, admissionregistrationv1.AllScopes)
		}
	}
}

func setScopes(rules []admissionregistrationv1.RuleWithOperations) {
	for n := range rules {
		setDefault(&rules[n].Scope, admissionregistrationv1.AllScopes)
	}
}

// reviewVersions are the versions that the plugins send.
var reviewVersions = []string{"v1", "v1beta1"}

func checkWebhook(name string, effects *admissionregistrationv1.SideEffectClass, versions []string) error {
	var errs []error
	if effects == nil || *effects != admissionregistrationv1.SideEffectClassNone && *effects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		errs = append(errs, fmt.Errorf("webhook %s: sideEffects must be None or NoneOnDryRun", name))
	}
	if !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions, v) }) {
		errs = append(errs, fmt.Errorf("webhook %s: admissionReviewVersions must include v1 or v1beta1", name))
	}
	return errors.Join(errs...)
}

func checkConstraints(name string, m *admissionregistrationv1.MatchResources) error {
	if m == nil || len(m.ResourceRules) == 0 {
		return fmt.Errorf("%s: matchConstraints.resourceRules must be specified", name)
	}
	return nil
}
