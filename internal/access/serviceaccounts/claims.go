package serviceaccounts

import (
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// claims is the content of a token.
type claims struct {
	jwt.Claims
	privateClaims
}

// privateClaims are those that only Kubernetes knows. Their names and those of their fields are kube-apiserver's.
type privateClaims struct {
	Kubernetes boundClaims `json:"kubernetes.io"`
}

// boundClaims name the account and the object that a token is bound to.
type boundClaims struct {
	Namespace string     `json:"namespace,omitempty"`
	Account   reference  `json:"serviceaccount"`
	Pod       *reference `json:"pod,omitempty"`
	Secret    *reference `json:"secret,omitempty"`
	Node      *reference `json:"node,omitempty"`
	// Validating and Mutating are set in tokens for webhooks, which this server neither issues nor accepts.
	Validating *reference       `json:"validatingwebhookconfiguration,omitempty"`
	Mutating   *reference       `json:"mutatingwebhookconfiguration,omitempty"`
	WarnAfter  *jwt.NumericDate `json:"warnafter,omitempty"`
}

// reference is an object of a certain UID: one that was deleted and created again is another.
type reference struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

func referenceTo(obj metav1.Object) *reference {
	return &reference{Name: obj.GetName(), UID: string(obj.GetUID())}
}

// lifetime says from when to when a token is valid, and after which time the audit log tells of its use.
type lifetime struct {
	begin            time.Time
	seconds, warning int64 // no warning if 0
}

// newClaims returns the claims of a token of an account for some audiences. bound has the objects that it is bound to.
func newClaims(account metav1.Object, audiences []string, life lifetime, bound boundClaims) claims {
	after := func(seconds int64) *jwt.NumericDate {
		return jwt.NewNumericDate(life.begin.Add(time.Duration(seconds) * time.Second))
	}
	c := claims{Claims: jwt.Claims{
		Subject:   serviceaccount.MakeUsername(account.GetNamespace(), account.GetName()),
		Audience:  audiences,
		IssuedAt:  after(0),
		NotBefore: after(0),
		Expiry:    after(life.seconds),
		ID:        uuid.NewString(),
	}}
	bound.Namespace, bound.Account = account.GetNamespace(), *referenceTo(account)
	c.Kubernetes = bound
	if life.warning != 0 {
		c.Kubernetes.WarnAfter = after(life.warning)
	}
	return c
}

// sign returns a token with the claims and the issuer.
func (i *Issuer) sign(c *claims) (string, error) {
	c.Issuer = i.issuers[0]
	// The library writes a single audience as a string, kube-apiserver as an array.
	audiences := map[string]any{"aud": []string(c.Audience)}
	return jwt.Signed(i.signer).Claims(c.privateClaims).Claims(c.Claims).Claims(audiences).Serialize()
}
