package rbac

import (
	"context"
	"flag"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

var (
	upstream = flag.Bool("upstream", false, "run TestDifferential, with kube-apiserver")
	update   = flag.Bool("update", false, "with -upstream, write kube-apiserver's answers into testdata")
	seed     = flag.Uint64("seed", 0, "with -upstream, what the random objects are made of; 0 for a new one")
	size     = flag.Int("size", 10_000, "with -upstream, the number of random roles, of bindings and of requests")
)

const (
	// startTimeout bounds the start of a server.
	startTimeout = time.Minute
	// patience bounds how long kube-apiserver needs until a change is in effect.
	patience = 2 * time.Minute
	// inParallel is how many requests are sent at a time.
	inParallel = 12
)

// server is a running server, and clients of its administrator.
type server struct {
	*kubernetes.Clientset
	config *rest.Config
	// authority signs client certificates that the server accepts.
	authority *authority
	// signingKey is the file with the key that signs tokens of service accounts.
	signingKey string
}

// startOurs starts crd-server with further flags, which is stopped when the test ends. Without the last flag, everybody
// may ask for its health whatever the roles say.
func startOurs(t *testing.T, flags ...string) *server {
	t.Helper()
	a := newAuthority(t)
	return start(t, a, "pki/service-account.key", programs.Server(), append(flags, "--client-ca-file="+a.file,
		"--authorization-always-allow-paths=")...)
}

// startTheirs starts kube-apiserver, and the controller of aggregated roles.
func startTheirs(t *testing.T) *server {
	t.Helper()
	program, args, err := programs.ControlPlane("kube-apiserver", "kube-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t)
	return start(t, a, "serviceaccounts.key", program, append(args, "--", "--client-ca-file="+a.file)...)
}

// start starts a program. key is the file with its signing key, in its data directory.
func start(t *testing.T, a *authority, key, program string, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	running, err := process.Start(ctx, process.Options{
		Binary: program, DataDir: filepath.Join(t.TempDir(), "data"), Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Errorf("%s did not stop cleanly: %v", program, err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", running.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return &server{kubernetes.NewForConfigOrDie(config), config, a, filepath.Join(running.DataDir, key)}
}

// verdict is the answer to a review, without what only words it.
type verdict struct {
	allowed, denied bool
	reason, err     string
}

// ask sends a SubjectAccessReview.
func (s *server) ask(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (verdict, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	answer, err := s.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, err
	}
	return verdictOf(answer.Status), nil
}

// askLocally sends a LocalSubjectAccessReview in the namespace of the request.
func (s *server) askLocally(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (verdict, error) {
	review := &authorizationv1.LocalSubjectAccessReview{Spec: spec}
	review.Namespace = spec.ResourceAttributes.Namespace
	answer, err := s.AuthorizationV1().LocalSubjectAccessReviews(review.Namespace).
		Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, err
	}
	return verdictOf(answer.Status), nil
}

func verdictOf(s authorizationv1.SubjectAccessReviewStatus) verdict {
	return verdict{s.Allowed, s.Denied, s.Reason, s.EvaluationError}
}

// each calls do for the numbers below count, several at a time.
func each(count int, do func(n int)) {
	var (
		next atomic.Int64
		all  sync.WaitGroup
	)
	for range inParallel {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < count; n = int(next.Add(1)) - 1 {
				do(n)
			}
		})
	}
	all.Wait()
}

// until repeats a condition of kube-apiserver, which learns of changes later than it answers them.
func until(t *testing.T, what string, done func(ctx context.Context) (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, done)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
