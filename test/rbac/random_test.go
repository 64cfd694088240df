package rbac

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rounds is how often objects are changed.
const rounds = 3

// TestDifferentialRandom stores the same random roles and bindings on kube-apiserver and on our server, and compares
// the answers to random requests. Then it changes a tenth of the objects and compares again, several times. Our server
// is asked as soon as the writes are answered; kube-apiserver when it has seen them.
func TestDifferentialRandom(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d -size %d", *seed, *size)
	w := newWorld(*seed, *size)
	p := newPair(t)
	p.write(create, w.objects())
	p.settle("created")
	asked := w.requests(w.size)
	p.compareVerdicts(asked)
	p.compareLocally(asked)
	p.compareRules(w)
	p.compareRequests(w)
	for round := range rounds {
		for op, objects := range w.changes() {
			p.write(op, objects)
		}
		asked := w.requests(w.size / 4)
		ours := p.verdicts(p.ours, asked)
		p.settle(fmt.Sprintf("changed%d", round))
		p.compare(asked, p.verdicts(p.theirs, asked), ours)
	}
	p.compareRules(w)
}

// recordedWorld makes the objects and requests whose answers are in testdata.
func recordedWorld() world { return newWorld(1, 300) }

// recordedAnswers has kube-apiserver's answers to the requests of recordedWorld.
const recordedAnswers = "testdata/random.txt"

// TestRandom stores a few random roles and bindings on our server, and compares its answers with those of
// kube-apiserver.
func TestRandom(t *testing.T) {
	t.Parallel()
	if *upstream {
		t.Skip("with -upstream, TestDifferentialRandom asks kube-apiserver")
	}
	want, err := os.ReadFile(recordedAnswers)
	if err != nil {
		t.Fatal(err)
	}
	w, p := recordedWorld(), pair{T: t, ours: startOurs(t)}
	if err := p.ours.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects := w.objects()
	each(len(objects), func(n int) {
		if reason, err := p.ours.write(t.Context(), create, objects[n]); reason != "" || err != nil {
			t.Error(reason, err)
		}
	})
	asked := w.requests(10 * w.size)
	report(t, string(want), signs(p.verdicts(p.ours, asked)))
}

// TestDifferentialRecorded compares the answers of both servers to the requests of TestRandom.
func TestDifferentialRecorded(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	w, p := recordedWorld(), newPair(t)
	p.write(create, w.objects())
	p.settle("created")
	asked := w.requests(10 * w.size)
	p.compareVerdicts(asked)
	if *update {
		if err := os.WriteFile(recordedAnswers, []byte(signs(p.verdicts(p.theirs, asked))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// signs shows a + for each request that is allowed, and a - for each other one, 100 in a line.
func signs(answers []verdict) string {
	var text strings.Builder
	for n, v := range answers {
		sign := byte('-')
		if v.allowed {
			sign = '+'
		}
		text.WriteByte(sign)
		if n%100 == 99 {
			text.WriteByte('\n')
		}
	}
	return text.String()
}

func (w world) requests(count int) []authorizationv1.SubjectAccessReviewSpec {
	requests := make([]authorizationv1.SubjectAccessReviewSpec, count)
	for n := range requests {
		requests[n] = w.request()
	}
	return requests
}

// changes returns new versions of a tenth of the objects, and others that are removed.
func (w world) changes() map[operation][]object {
	changes := map[operation][]object{}
	for _, n := range w.Perm(w.size)[:w.size/10] {
		op := replace
		if w.IntN(3) == 0 {
			op = remove
		}
		changes[op] = append(changes[op], w.role(n))
	}
	for _, n := range w.Perm(w.size)[:w.size/10] {
		op := replace
		if w.IntN(3) == 0 {
			op = remove
		}
		changes[op] = append(changes[op], w.binding(n))
	}
	return changes
}

// pair is kube-apiserver and our server, with the same objects.
type pair struct {
	*testing.T
	theirs, ours *server
}

func newPair(t *testing.T) pair {
	t.Helper()
	p := pair{t, startTheirs(t), startOurs(t)}
	for _, s := range []*server{p.theirs, p.ours} {
		if err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.removeForeignBindings()
	return p
}

// removeForeignBindings deletes the default bindings that our server does not have, such as those of nodes.
func (p pair) removeForeignBindings() {
	p.Helper()
	theirs, err := p.theirs.RbacV1().ClusterRoleBindings().List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for _, b := range theirs.Items {
		if _, err := p.ours.RbacV1().ClusterRoleBindings().Get(p.Context(), b.Name, metav1.GetOptions{}); err == nil {
			continue
		}
		if err := p.theirs.RbacV1().ClusterRoleBindings().Delete(p.Context(), b.Name, metav1.DeleteOptions{}); err != nil {
			p.Fatal(err)
		}
	}
}

// write writes objects to both servers, which must accept the same ones.
func (p pair) write(op operation, objects []object) {
	p.Helper()
	refused := make([]metav1.StatusReason, len(objects))
	each(len(objects), func(n int) {
		want, wantErr := p.theirs.write(p.Context(), op, objects[n])
		got, err := p.ours.write(p.Context(), op, objects[n])
		if got != want || err != nil || wantErr != nil {
			p.Errorf("%s %+v: %q %v, kube-apiserver %q %v", op, objects[n], got, err, want, wantErr)
		}
		refused[n] = got
	})
	count := 0
	for _, reason := range refused {
		if reason != "" {
			count++
		}
	}
	p.Logf("%s: %d objects, %d refused", op, len(objects), count)
}

// settle waits until kube-apiserver decides by all objects that were written. It reads each of the four kinds in order,
// so it has read all when two bindings are in effect that are written now.
func (p pair) settle(name string) {
	p.Helper()
	rules := []rbacv1.PolicyRule{{Verbs: []string{name}, APIGroups: []string{""}, Resources: []string{"marks"}}}
	meta := metav1.ObjectMeta{Name: name, Namespace: inNamespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mark"}}
	everywhere := ref
	everywhere.Kind = "ClusterRole"
	p.write(create, []object{
		{role: &rbacv1.Role{ObjectMeta: meta, Rules: rules}},
		{binding: &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}},
		{clusterRole: &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}},
		{clusterBinding: &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: everywhere,
			Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "marks"}},
		}},
	})
	for _, spec := range []authorizationv1.SubjectAccessReviewSpec{{User: "mark"}, {Groups: []string{"marks"}}} {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: name, Resource: "marks", Namespace: inNamespace}
		until(p.T, "kube-apiserver has seen the objects", func(ctx context.Context) (bool, error) {
			v, err := p.theirs.ask(ctx, spec)
			return v.allowed, err
		})
	}
}
