package aggregator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// core serves the APIs of a host cluster that crd-server calls: the authentication ConfigMap, TokenReviews and
// SubjectAccessReviews.
type core struct {
	// trust is the ConfigMap extension-apiserver-authentication.
	trust *corev1.ConfigMap
	// tokens maps tokens to users.
	tokens map[string]authenticationv1.UserInfo
	// roles maps groups of users to the verbs that they may use; * is all.
	roles map[string][]string

	mu sync.Mutex // guards reviews
	// reviews are the access reviews that were asked for, oldest first.
	reviews []authorizationv1.SubjectAccessReviewSpec
}

const (
	trustNamespace = "kube-system"
	trustName      = "extension-apiserver-authentication"
)

// newCore returns a core that trusts client certificates of clients, and a front proxy named proxyName with a
// certificate of proxies.
func newCore(clients, proxies *authority) *core {
	return &core{
		trust: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: trustNamespace, Name: trustName, ResourceVersion: "1"},
			Data: map[string]string{
				"client-ca-file":                     string(clients.pem()),
				"requestheader-client-ca-file":       string(proxies.pem()),
				"requestheader-allowed-names":        `["` + proxyName + `"]`,
				"requestheader-username-headers":     `["X-Remote-User"]`,
				"requestheader-uid-headers":          `["X-Remote-Uid"]`,
				"requestheader-group-headers":        `["X-Remote-Group"]`,
				"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
			},
		},
		tokens: map[string]authenticationv1.UserInfo{"robots-token": {Username: "robot", Groups: []string{"readers"}}},
		roles:  map[string][]string{"editors": {"*"}, "readers": {"get", "list", "watch"}},
	}
}

// ServeHTTP serves the requests of crd-server.
func (c *core) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch path := strings.TrimSuffix(req.URL.Path, "/"+trustName); {
	case path == "/api/v1/namespaces/"+trustNamespace+"/configmaps":
		c.serveTrust(w, req, path != req.URL.Path)
	case path == "/apis/authentication.k8s.io/v1/tokenreviews":
		serveReview(w, req, c.reviewToken)
	case path == "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		serveReview(w, req, c.reviewAccess)
	default:
		http.NotFound(w, req)
	}
}

// serveTrust serves the ConfigMap, alone or in a list, and a watch without events.
func (c *core) serveTrust(w http.ResponseWriter, req *http.Request, alone bool) {
	switch {
	case req.URL.Query().Get("sendInitialEvents") != "":
		http.Error(w, "list instead", http.StatusBadRequest)
	case req.URL.Query().Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	case alone:
		serveJSON(w, c.trust)
	default:
		serveJSON(w, corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items:    []corev1.ConfigMap{*c.trust},
		})
	}
}

func serveReview[T any](w http.ResponseWriter, req *http.Request, answer func(*T)) {
	review := new(T)
	if err := json.NewDecoder(req.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(review)
	serveJSON(w, review)
}

func serveJSON(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // fails when the client has gone
}

func (c *core) reviewToken(review *authenticationv1.TokenReview) {
	review.Status.User, review.Status.Authenticated = c.tokens[review.Spec.Token]
}

func (c *core) reviewAccess(review *authorizationv1.SubjectAccessReview) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews = append(c.reviews, review.Spec)
	asked := review.Spec.ResourceAttributes
	review.Status.Allowed = asked != nil && slices.ContainsFunc(review.Spec.Groups, func(group string) bool {
		return slices.Contains(c.roles[group], "*") || slices.Contains(c.roles[group], asked.Verb)
	})
}

// reviewOf returns the newest access review in a namespace, or an empty one.
func (c *core) reviewOf(namespace string) (review authorizationv1.SubjectAccessReviewSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, asked := range c.reviews {
		if asked.ResourceAttributes != nil && asked.ResourceAttributes.Namespace == namespace {
			review = asked
		}
	}
	return review
}
