package rbac

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// verdicts asks a server all requests.
func (p pair) verdicts(s *server, asked []authorizationv1.SubjectAccessReviewSpec) []verdict {
	p.Helper()
	answers := make([]verdict, len(asked))
	each(len(asked), func(n int) {
		var err error
		if answers[n], err = s.ask(p.Context(), asked[n]); err != nil {
			p.Errorf("%s: %v", shown(asked[n]), err)
		}
	})
	return answers
}

// compareVerdicts asks both servers all requests.
func (p pair) compareVerdicts(asked []authorizationv1.SubjectAccessReviewSpec) {
	p.Helper()
	p.compare(asked, p.verdicts(p.theirs, asked), p.verdicts(p.ours, asked))
}

// compareLocally asks both servers some of the requests in namespaces by LocalSubjectAccessReviews.
func (p pair) compareLocally(asked []authorizationv1.SubjectAccessReviewSpec) {
	p.Helper()
	var local []authorizationv1.SubjectAccessReviewSpec
	for _, spec := range asked {
		if r := spec.ResourceAttributes; r != nil && r.Namespace != "" && len(local) < 500 {
			local = append(local, spec)
		}
	}
	answers := map[*server][]verdict{}
	for _, s := range []*server{p.theirs, p.ours} {
		answers[s] = make([]verdict, len(local))
		each(len(local), func(n int) {
			var err error
			if answers[s][n], err = s.askLocally(p.Context(), local[n]); err != nil {
				p.Errorf("%s: %v", shown(local[n]), err)
			}
		})
	}
	p.compare(local, answers[p.theirs], answers[p.ours])
}

// compare compares the answers of both servers.
func (p pair) compare(asked []authorizationv1.SubjectAccessReviewSpec, theirs, ours []verdict) {
	p.Helper()
	var allowed, reasons, failed atomic.Int64
	each(len(asked), func(n int) {
		want, got := theirs[n], ours[n]
		if want.allowed {
			allowed.Add(1)
		}
		sameReason := sorted(want.reason) == sorted(got.reason) && sorted(want.err) == sorted(got.err)
		if want.allowed && got.allowed && !sameReason {
			reasons.Add(1)
			sameReason = p.explained(asked[n], got.reason)
		}
		if (want.allowed != got.allowed || want.denied != got.denied || !sameReason) && failed.Add(1) <= 10 {
			p.Errorf("%s\nkube-apiserver: %+v\ncrd-server:     %+v", shown(asked[n]), want, got)
		}
	})
	p.Logf("%d requests, %d allowed, %d of them for another reason, %d differ", len(asked), allowed.Load(),
		reasons.Load(), failed.Load())
}

// subjectOf finds the subject in the reason of an allowed request.
var subjectOf = regexp.MustCompile(
	`^RBAC: allowed by \w+Binding ".+" of \w+ ".+" to (User|Group|ServiceAccount) "(.+)"$`)

// explained reports whether kube-apiserver allows a request to the one subject that our server gives as the reason. Of
// several bindings that allow a request, kube-apiserver names any.
func (p pair) explained(asked authorizationv1.SubjectAccessReviewSpec, reason string) bool {
	found := subjectOf.FindStringSubmatch(reason)
	if found == nil {
		return false
	}
	kind, name := found[1], found[2]
	switch kind {
	case "Group":
		if !slices.Contains(asked.Groups, name) {
			return false
		}
		asked.User, asked.Groups = "", []string{name}
	case "ServiceAccount":
		account, namespace, _ := strings.Cut(name, "/")
		name = "system:serviceaccount:" + namespace + ":" + account
		fallthrough
	default:
		if asked.User != name {
			return false
		}
		asked.Groups = nil
	}
	v, err := p.theirs.ask(p.Context(), asked)
	return err == nil && v.allowed
}

// sorted sorts the errors in a reason, whose order is random.
func sorted(reason string) string {
	before, list, several := strings.Cut(reason, "[")
	if !several {
		return reason
	}
	errs := strings.Split(strings.TrimSuffix(list, "]"), ", ")
	slices.Sort(errs)
	return before + "[" + strings.Join(errs, ", ") + "]"
}

// report fails the test if two texts differ.
func report(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(want), FromFile: "kube-apiserver", B: difflib.SplitLines(got), ToFile: "crd-server", Context: 3,
	})
	t.Errorf("%s %v", diff, err)
}

func shown(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// compareRules compares what some users may do, as sets of rules.
func (p pair) compareRules(w world) {
	p.Helper()
	type question struct {
		identity
		namespace string
	}
	questions := make([]question, min(300, w.size))
	for n := range questions {
		questions[n] = question{w.identity(), w.namespace()}
	}
	rules := 0
	for _, q := range questions {
		want, got := rulesOf(p.T, p.theirs, q.identity, q.namespace), rulesOf(p.T, p.ours, q.identity, q.namespace)
		rules += len(want)
		if !slices.Equal(want, got) {
			p.Errorf("the rules of %+v\nkube-apiserver: %v\ncrd-server:     %v", q, want, got)
		}
	}
	p.Logf("%d users have %d rules", len(questions), rules)
}
