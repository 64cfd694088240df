package serviceaccounts

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
)

// Request asks for a token of an account.
type Request struct {
	Namespace, Name string
	// TokenRequest is the decoded body with its defaults. Issue may change it.
	TokenRequest *authenticationv1.TokenRequest
	// Admit asks validating admission; nil admits all.
	Admit func(ctx context.Context, obj runtime.Object) error
}

var requestKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// Tokens of pods that the kubelet renews have renewedSeconds. With the extension they are valid for extendedSeconds,
// and their use after the time that was asked for is audited. The values are kube-apiserver's.
const (
	renewedSeconds  = 60*60 + 7
	extendedSeconds = 365 * 24 * 60 * 60
)

// Issue returns the request with a token in its status. The steps and errors are kube-apiserver's. A dry run gets a
// token as well, as there: nothing is stored.
func (i *Issuer) Issue(ctx context.Context, r Request) (*authenticationv1.TokenRequest, error) {
	request := r.TokenRequest
	if err := r.checkMetadata(); err != nil {
		return nil, err
	}
	account, err := i.objects.Get(ctx, ObjectRef{"serviceaccounts", r.Namespace, r.Name}, true)
	if err != nil {
		return nil, err
	}
	if err := checkUID(ctx, request, account); err != nil {
		return nil, err
	}
	begin := i.now()
	i.complete(request, account, begin)
	if errs := validate(&request.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(requestKind.GroupKind(), "", errs)
	}
	if r.Admit != nil {
		if err := r.Admit(ctx, request.DeepCopy()); err != nil {
			return nil, err
		}
	}
	bound, err := i.bind(ctx, r)
	if err != nil {
		return nil, err
	}
	i.shorten(ctx, request)
	c := newClaims(account, request.Spec.Audiences, i.lifetime(request, bound.Pod != nil, begin), bound)
	token, err := i.sign(&c)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	request.Status = authenticationv1.TokenRequestStatus{
		Token:               token,
		ExpirationTimestamp: metav1.NewTime(begin.Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second)),
	}
	audit.AddAuditAnnotation(ctx, serviceaccount.IssuedCredentialIDAuditAnnotationKey, tokenjwt.CredentialIDForJTI(c.ID))
	return request, nil
}

// checkMetadata returns an error if the body is for another account than the path.
func (r *Request) checkMetadata() error {
	metadata := field.NewPath("metadata")
	body := r.TokenRequest
	var err *field.Error
	switch {
	case body.Name != "" && body.Name != r.Name:
		err = field.Invalid(metadata.Child("name"), body.Name, "must match the service account name if specified")
	case body.Namespace != "" && body.Namespace != r.Namespace:
		err = field.Invalid(metadata.Child("namespace"), body.Namespace,
			"must match the service account namespace if specified")
	default:
		return nil
	}
	return apierrors.NewInvalid(requestKind.GroupKind(), r.Name, field.ErrorList{err})
}

// checkUID returns an error if the request is for an account of another UID.
func checkUID(ctx context.Context, request *authenticationv1.TokenRequest, account metav1.Object) error {
	if request.UID == "" || request.UID == account.GetUID() {
		return nil
	}
	text := fmt.Sprintf("the UID in the token request (%s) does not match the UID of the service account (%s)",
		request.UID, account.GetUID())
	if utilfeature.DefaultFeatureGate.Enabled(features.TokenRequestServiceAccountUIDValidation) {
		resource := schema.GroupResource{Group: requestKind.Group, Resource: requestKind.Kind}
		return apierrors.NewConflict(resource, account.GetName(), fmt.Errorf("%s", text))
	}
	audit.AddAuditAnnotation(ctx, "authentication.k8s.io/token-request-uid-mismatch", text)
	warning.AddWarning(ctx, "", text+" but TokenRequestServiceAccountUIDValidation is not enabled. "+
		"In the future, this will return a conflict error")
	return nil
}

// complete sets what the request leaves out, and what clients cannot set.
func (i *Issuer) complete(request *authenticationv1.TokenRequest, account metav1.Object, now time.Time) {
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = i.Audiences()
	}
	request.Name, request.Namespace = account.GetName(), account.GetNamespace()
	if request.UID == "" {
		request.UID = account.GetUID()
	}
	request.CreationTimestamp = metav1.NewTime(now)
	request.Status = authenticationv1.TokenRequestStatus{}
}

// shorten reduces the expiration to the longest one that is allowed.
func (i *Issuer) shorten(ctx context.Context, request *authenticationv1.TokenRequest) {
	asked, longest := *request.Spec.ExpirationSeconds, int64(i.options.MaxExpiration/time.Second)
	if longest > 0 && asked > longest {
		warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", asked, longest))
		request.Spec.ExpirationSeconds = &longest
	}
}

// lifetime returns the time in which the token is valid. Tokens of pods for this server may be extended.
func (i *Issuer) lifetime(request *authenticationv1.TokenRequest, ofPod bool, begin time.Time) lifetime {
	asked := *request.Spec.ExpirationSeconds
	forServer := len(i.audiences.Intersect(request.Spec.Audiences)) == len(request.Spec.Audiences)
	if i.options.ExtendExpiration && ofPod && asked == renewedSeconds && forServer {
		return lifetime{begin: begin, seconds: extendedSeconds, warning: asked}
	}
	return lifetime{begin: begin, seconds: asked}
}

// serviceAccountOf returns the account that a pod runs as.
func serviceAccountOf(pod metav1.Object) string {
	if pod, ok := pod.(*corev1.Pod); ok {
		return pod.Spec.ServiceAccountName
	}
	return ""
}
