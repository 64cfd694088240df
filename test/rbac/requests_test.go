package rbac

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// rulesOf returns the sorted rules in a SelfSubjectRulesReview of a user, and what is wrong with them.
func rulesOf(t *testing.T, s *server, who identity, namespace string) []string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}
	answer, err := kubernetes.NewForConfigOrDie(s.impersonated(who.name, who.groups)).AuthorizationV1().
		SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := []string{shown(answer.Status.Incomplete) + sorted(answer.Status.EvaluationError)}
	for _, rule := range answer.Status.ResourceRules {
		rules = append(rules, shown(rule))
	}
	for _, rule := range answer.Status.NonResourceRules {
		rules = append(rules, shown(rule))
	}
	slices.Sort(rules)
	return rules
}

// asked is a request as it is sent.
type asked struct{ method, path string }

// someRequests are sent by users. Bodies are missing: a request that is allowed fails later.
var someRequests = []asked{
	{"GET", "/api/v1/configmaps"}, {"GET", "/api/v1/namespaces/n0/configmaps"},
	{"GET", "/api/v1/namespaces/n0/configmaps/a"}, {"GET", "/api/v1/namespaces/n0/secrets?watch=1&timeoutSeconds=1"},
	{"GET", "/api/v1/namespaces/n0/secrets?fieldSelector=metadata.name%3Da"}, {"POST", "/api/v1/namespaces/n0/configmaps"},
	{"PUT", "/api/v1/namespaces/n0/configmaps/a"}, {"PATCH", "/api/v1/namespaces/n0/secrets/b"},
	{"DELETE", "/api/v1/namespaces/n0/secrets/b"}, {"DELETE", "/api/v1/namespaces/n0/configmaps?labelSelector=no%3Done"},
	{"GET", "/api/v1/namespaces/n0"}, {"GET", "/api/v1/namespaces"}, {"POST", "/api/v1/namespaces"},
	{"POST", "/api/v1/namespaces/n0/serviceaccounts/robot0/token"},
	{"GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/n0/roles"},
	{"GET", "/apis/apps/v1/namespaces/n0/deployments/a/scale"},
	{"GET", "/apis/stable.example.com/v1/namespaces/n0/crontabs/a/status"}, {"GET", "/apis/stable.example.com"},
	{"GET", "/healthz"}, {"GET", "/metrics"}, {"GET", "/a/b"}, {"GET", "/a/x"}, {"HEAD", "/a/b/"}, {"GET", "/"},
}

// compareRequests sends requests of users who are impersonated, or who have certificates or tokens of their own. The
// servers must allow the same ones, and refuse the others with the same message.
func (p pair) compareRequests(w world) {
	p.Helper()
	type sender struct {
		who          string
		theirs, ours *rest.Config
	}
	var senders []sender
	for range min(40, w.size) {
		who := w.identity()
		senders = append(senders, sender{"as " + who.name, p.theirs.impersonated(who.name, who.groups),
			p.ours.impersonated(who.name, who.groups)})
		if !strings.HasPrefix(who.name, "system:") {
			senders = append(senders, sender{"certificate of " + who.name, p.theirs.certified(p.T, who.name, who.groups),
				p.ours.certified(p.T, who.name, who.groups)})
			continue
		}
		parts := strings.Split(who.name, ":")
		senders = append(senders, sender{"token of " + who.name, p.theirs.tokened(p.T, parts[2], parts[3]),
			p.ours.tokened(p.T, parts[2], parts[3])})
	}
	refused := 0
	for _, s := range senders {
		theirs, ours := clientOf(p.T, s.theirs), clientOf(p.T, s.ours)
		for _, r := range someRequests {
			r.path = strings.ReplaceAll(r.path, "/n0", "/"+w.namespace())
			want, got := refusal(p.Context(), theirs, r), refusal(p.Context(), ours, r)
			if want != got {
				p.Errorf("%s: %v\nkube-apiserver: %s\ncrd-server:     %s", s.who, r, want, got)
			}
			if want != "" {
				refused++
			}
		}
	}
	p.Logf("%d requests of %d users, %d refused", len(senders)*len(someRequests), len(senders), refused)
}

func clientOf(t *testing.T, config *rest.Config) rest.Interface {
	t.Helper()
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config).RESTClient()
}

// refusal returns the message of a request that is not allowed.
func refusal(ctx context.Context, c rest.Interface, r asked) string {
	err := c.Verb(r.method).RequestURI(r.path).Do(ctx).Error()
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return sorted(err.Error())
	}
	return ""
}
