package transcripts

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/programs"
)

// TestDifferentialLockstepBuiltin does the same as TestDifferentialLockstep for built-in resources and kube-apiserver.
//
// No controllers run: they would change namespaces, quotas and what has owners between two steps.
// TestDifferentialControllers compares them.
func TestDifferentialLockstepBuiltin(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	l := &lockstep{both: startUncontrolled(t)}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	kinds := kindsIn(t, "testdata/lockstep-builtin")
	// A malformed request for a namespace may be one for those of all sequences.
	inNamespaces := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return !k.namespaced })
	for _, s := range []script{writing(kinds), reading(kinds), hostility(t, inNamespaces)} {
		t.Run(s.name, func(t *testing.T) { l.run(t, s.inNamespace()) })
	}
}

// heldLease is the Lease of our controllers, held by nobody for a day.
const heldLease = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"crd-server-controllers",` +
	`"namespace":"kube-system","uid":"6b2f3e1c-5d0a-4a39-9d0e-7f1f5c2b8a11","creationTimestamp":"2020-01-02T03:04:05Z"},` +
	`"spec":{"holderIdentity":"lockstep","leaseDurationSeconds":86400,"acquireTime":"2020-01-02T03:04:05.000000Z",` +
	`"renewTime":"2020-01-02T03:04:05.000000Z","leaseTransitions":0}}`

// startUncontrolled starts kube-apiserver and our server without controllers. Ours finds that another replica leads.
func startUncontrolled(t *testing.T) both {
	t.Helper()
	program, args, err := programs.ControlPlane("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	etcd := cluster.Start(t, 1)
	if _, err := etcd.Client.Put(t.Context(), "/registry/leases/kube-system/crd-server-controllers", heldLease); err != nil {
		t.Fatal(err)
	}
	flags := append(slices.Clone(builtinFlags), "--etcd-servers="+etcd.Endpoints()[0])
	return both{theirs: startTarget(t, program, args...), ours: startTarget(t, programs.Server(), flags...)}
}

// inNamespace makes a script create the namespace of its sequence first, and speak protobuf too.
func (s script) inNamespace() script {
	create := func(known *side) request {
		return request{method: "POST", path: "/api/v1/namespaces", header: map[string]string{"Content-Type": "application/json"},
			body: encode(map[string]any{"metadata": map[string]any{"name": known.space}})}
	}
	s.prologue = append([]func(*side) request{create}, s.prologue...)
	step := s.step
	s.step = func(random *rand.Rand, known *side) request {
		r := step(random, known)
		if r.method == "HEAD" || r.method == "OPTIONS" {
			r.method = "GET" // kube-apiserver has no HEAD
		}
		r.body = bytes.ReplaceAll(r.body, []byte("{space}"), []byte(known.space))
		// Sequences run at the same time, so objects without a namespace need names of their own.
		r.body = bytes.ReplaceAll(r.body, []byte(`"name":"other"`), []byte(`"name":"other-`+known.space+`"`))
		return r.inProtobuf(random)
	}
	return s
}

// inProtobuf returns the request, sometimes with a body in protobuf, and sometimes with a response in another format.
func (r request) inProtobuf(random *rand.Rand) request {
	if r.method == http.MethodGet || r.header["Content-Type"] == "" {
		return r
	}
	if r.header["Accept"] == "" && chance(random, 12) {
		r.header["Accept"] = pick(random, []string{runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf,
			"application/json;as=Table;g=meta.k8s.io;v=v1",
			"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"})
	}
	if r.header["Content-Type"] != runtime.ContentTypeJSON || !chance(random, 20) {
		return r
	}
	if body, err := encodeProtobuf(r.body); err == nil {
		r.body, r.header["Content-Type"] = body, runtime.ContentTypeProtobuf
	}
	return r
}
