package serviceaccounts

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"
)

// legacyIssuer is the issuer of tokens in Secrets. kube-controller-manager makes them, and signs them with the key of
// --service-account-private-key-file. They do not expire, but are valid while the Secret and the account exist.
const legacyIssuer = "kubernetes/serviceaccount"

// The labels of a Secret with a token. They are kube-apiserver's.
const (
	invalidSince = "kubernetes.io/legacy-token-invalid-since"
	lastUsed     = "kubernetes.io/legacy-token-last-used"
)

// legacyClaims are the private claims of a token in a Secret.
type legacyClaims struct {
	Account    string `json:"kubernetes.io/serviceaccount/service-account.name"`
	AccountUID string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret     string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace  string `json:"kubernetes.io/serviceaccount/namespace"`
}

// authenticateLegacy is AuthenticateToken for a token in a Secret.
func (i *Issuer) authenticateLegacy(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, false, nil //nolint:nilerr // another authenticator may know the token
	}
	public, private := &jwt.Claims{}, &legacyClaims{}
	if err := i.verify(parsed, public, private); err != nil {
		return nil, false, err
	}
	claimed := authenticator.Audiences(public.Audience)
	if len(claimed) == 0 {
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token", public.Subject)
		claimed = i.audiences
	}
	audiences, err := i.intersect(ctx, claimed)
	if err != nil {
		return nil, false, err
	}
	if err := private.check(public.Subject); err != nil {
		return nil, false, err
	}
	if err := i.checkSecret(ctx, private, token); err != nil {
		return nil, false, err
	}
	info := &serviceaccount.ServiceAccountInfo{
		Namespace: private.Namespace, Name: private.Account, UID: private.AccountUID,
	}
	return &authenticator.Response{User: info.UserInfo(), Audiences: audiences}, true, nil
}

// check checks that no claim is missing, and that the subject is the account.
func (c *legacyClaims) check(subject string) error {
	for _, claim := range []struct{ name, value string }{
		{"sub", subject}, {"namespace", c.Namespace}, {"secretName", c.Secret}, {"serviceAccountName", c.Account},
		{"serviceAccountUID", c.AccountUID},
	} {
		if claim.value == "" {
			return fmt.Errorf("%s claim is missing", claim.name)
		}
	}
	if subject != serviceaccount.MakeUsername(c.Namespace, c.Account) {
		return errors.New("sub claim is invalid")
	}
	return nil
}

var (
	//lint:ignore ST1005 the message is kube-apiserver's
	errNoSecret = errors.New("Token has been invalidated")
	//lint:ignore ST1005 the message is kube-apiserver's
	errOtherToken = errors.New("Token does not match server's copy")
)

// checkSecret returns an error unless a Secret has the token and its account exists. It records the use of the token.
func (i *Issuer) checkSecret(ctx context.Context, c *legacyClaims, token string) error {
	isCopy := func(obj metav1.Object) bool {
		secret, ok := obj.(*corev1.Secret)
		return ok && subtle.ConstantTimeCompare(secret.Data[corev1.ServiceAccountTokenKey], []byte(token)) == 1
	}
	obj, err := i.newest(ctx, ObjectRef{"secrets", c.Namespace, c.Secret}, isCopy)
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return errNoSecret
	}
	if !isCopy(obj) {
		return errOtherToken
	}
	secret := obj.(*corev1.Secret)
	hasUID := func(obj metav1.Object) bool { return string(obj.GetUID()) == c.AccountUID }
	account, err := i.newest(ctx, ObjectRef{"serviceaccounts", c.Namespace, c.Account}, hasUID)
	switch {
	case err != nil:
		return err
	case account.GetDeletionTimestamp() != nil:
		return fmt.Errorf("ServiceAccount %s/%s has been deleted", c.Namespace, c.Account)
	case !hasUID(account):
		return fmt.Errorf("ServiceAccount UID (%s) does not match claim (%s)", account.GetUID(), c.AccountUID)
	}
	defer i.recordUse(ctx, secret)
	if secret.Labels[invalidSince] != "" {
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token-invalidated", secret.Name+"/"+secret.Namespace)
		return fmt.Errorf("the token in secret %s/%s for service account %s/%s has been marked invalid. Use tokens from "+
			"the TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the secret to "+
			"temporarily allow use of this token", c.Namespace, c.Secret, c.Namespace, c.Account, invalidSince)
	}
	if typed, ok := account.(*corev1.ServiceAccount); ok && namesSecret(typed, secret.Name) {
		warning.AddWarning(ctx, "", "Use tokens from the TokenRequest API or manually created secret-based tokens "+
			"instead of auto-generated secret-based tokens.")
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token-autogenerated-secret", secret.Name)
		return nil
	}
	audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token-manual-secret", secret.Name)
	return nil
}

// namesSecret reports whether an account lists a Secret, as those do whose Secrets were made for them.
func namesSecret(account *corev1.ServiceAccount, secret string) bool {
	return slices.ContainsFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret })
}

// newest returns an object of the cache if it is as wanted, else that of etcd: the cache may be older than the token.
func (i *Issuer) newest(ctx context.Context, ref ObjectRef, wanted func(metav1.Object) bool) (metav1.Object, error) {
	obj, err := i.objects.Get(ctx, ref, false)
	if err == nil && wanted(obj) || err != nil && !apierrors.IsNotFound(err) {
		return obj, err
	}
	return i.objects.Get(ctx, ref, true)
}

// recordUse notes in a label on which day a token was last used. Tomorrow is the day of a clock that is ahead.
func (i *Issuer) recordUse(ctx context.Context, secret *corev1.Secret) {
	now := i.now().UTC()
	today, tomorrow := now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	if day := secret.Labels[lastUsed]; day == today || day == tomorrow {
		return
	}
	if err := i.objects.Label(ctx, secret, lastUsed, today); err != nil {
		klog.FromContext(ctx).Error(err, "The use of a token is not recorded", "secret", klog.KObj(secret))
	}
}
