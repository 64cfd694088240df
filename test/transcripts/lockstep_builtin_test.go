package transcripts

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

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

// startUncontrolled starts kube-apiserver and our server without controllers.
func startUncontrolled(t *testing.T) both {
	t.Helper()
	return both{theirs: startAPIServer(t), ours: startTarget(t, programs.Server(), uncontrolled("essential")...)}
}

// inNamespace makes a script create the namespace of its sequence first, and speak protobuf too.
func (s script) inNamespace() script {
	create := func(known *side) request {
		return request{method: "POST", path: "/api/v1/namespaces",
			header: map[string]string{"Content-Type": "application/json"},
			body:   encode(map[string]any{"metadata": map[string]any{"name": known.space}})}
	}
	prologue := []func(*side) request{create}
	for _, step := range s.prologue {
		prologue = append(prologue, func(known *side) request { return step(known).inSpace(known.space) })
	}
	s.prologue = prologue
	step := s.step
	s.step = func(random *rand.Rand, known *side) request {
		r := step(random, known)
		if r.method == "HEAD" || r.method == "OPTIONS" {
			r.method = "GET" // kube-apiserver has no HEAD
		}
		return r.inSpace(known.space).inProtobuf(random)
	}
	return s
}

// inSpace fills in the namespace of the sequence. Sequences run at the same time, so objects without a namespace need
// names of their own.
func (r request) inSpace(space string) request {
	r.body = bytes.ReplaceAll(r.body, []byte("{space}"), []byte(space))
	r.body = bytes.ReplaceAll(r.body, []byte(`"name":"other"`), []byte(`"name":"other-`+space+`"`))
	return r
}

// inProtobuf returns the request, sometimes with a body in protobuf, and sometimes with a response in another format.
func (r request) inProtobuf(random *rand.Rand) request {
	if r.method == http.MethodGet || r.header["Content-Type"] == "" || strings.Contains(r.path, "/finalize") {
		return r // kube-apiserver has no Table of a finalized namespace
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
