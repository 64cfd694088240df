package crdhandler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestChangeMemory sends the same writes to a server that remembers and to one that does not, because it has an
// admission: their answers must be the same.
func TestChangeMemory(t *testing.T) {
	remembering, other := newWriting(t, etcdtest.New(t), nil), newWriting(t, etcdtest.New(t), admission.NewHandler())
	random := rand.New(rand.NewPCG(3, 4))
	worked, spared := 0, 0
	for _, scope := range []*requestScope{remembering.served.main, remembering.served.status} {
		scope.strategy = countingStrategy{scope.strategy, &worked}
	}
	for n := range 200 {
		bytes := make(choices, 12)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		method, path, contentType, body := inventedWrite(&bytes)
		if strings.Contains(body, "REVISION") {
			read := remembering.send(http.MethodGet, "a", "", "").Body.String()
			revision := regexp.MustCompile(`"resourceVersion":"(\d+)"`).FindStringSubmatch(read)
			if revision == nil {
				continue
			}
			body = strings.ReplaceAll(body, "REVISION", revision[1])
		}
		for range 3 {
			earlyInSecond(t)
			for _, w := range []*writing{remembering, other} {
				// waits for what was written: an attempt on an older state may warn in vain
				w.send(http.MethodGet, "a", "", "")
			}
			before := worked
			got, want := remembering.send(method, path, contentType, body), other.send(method, path, contentType, body)
			if got.Code != want.Code || timeless(got) != timeless(want) ||
				!reflect.DeepEqual(remembering.heard, other.heard) {
				t.Fatalf("write %d: %s %s %s\ngot  %d %v %s\nwant %d %v %s", n, method, path, body,
					got.Code, remembering.heard, got.Body, want.Code, other.heard, want.Body)
			}
			if got.Code == http.StatusOK && method == http.MethodPatch && worked == before {
				spared++
			}
		}
	}
	if spared < 20 {
		t.Errorf("only %d of 600 writes were spared", spared)
	}
	t.Logf("%d of 600 writes were spared", spared)
}

// earlyInSecond waits for a moment when there is some time left in the present second: managed fields are ordered by
// seconds.
func earlyInSecond(t *testing.T) {
	now := time.Now()
	if next := now.Truncate(time.Second).Add(time.Second); next.Sub(now) < 300*time.Millisecond {
		until(t, next)
	}
}

func until(t *testing.T, at time.Time) {
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
	}
}

// TestChangeMemoryAndTime: the entry of a manager moves behind those of others when it applies in a later second what
// seems to change something, here a status that cannot be set like this. It must not be remembered that nothing
// changes.
func TestChangeMemoryAndTime(t *testing.T) {
	w := newWriting(t, etcd, nil)
	body := strings.Replace(machine("a", 1), `"spec":{`, `"status":{"phase":"Running"},"spec":{`, 1)
	apply := func(manager string) string {
		answer := w.send(http.MethodPatch, "a?force=true&fieldManager="+manager, applyPatch, body)
		return regexp.MustCompile(`"resourceVersion":"\d+"`).FindString(answer.Body.String())
	}
	earlyInSecond(t)
	start := time.Now().Truncate(time.Second)
	apply("one")
	revision := apply("two")
	for range 2 {
		if apply("one") != revision {
			t.Fatal("in the same second it changes nothing")
		}
	}
	until(t, start.Add(time.Second))
	moved := apply("one")
	if moved == revision {
		t.Error("in a later second, the entry moves")
	}
	until(t, start.Add(2*time.Second))
	if apply("one") != moved {
		t.Error("once it is the last one, it stays")
	}
}

// countingStrategy counts the changes that are worked on.
type countingStrategy struct {
	strategy
	count *int
}

func (s countingStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	*s.count++
	s.strategy.PrepareForCreate(ctx, obj)
}

func (s countingStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	*s.count++
	s.strategy.PrepareForUpdate(ctx, obj, old)
}

const applyPatch = "application/apply-patch+yaml"

// inventedWrite returns some write of one of two objects.
func inventedWrite(c *choices) (method, path, contentType, body string) {
	name := pick(c, "a", "a", "b")
	configuration := func() string {
		body := machine(name, 1+c.of(2))
		switch c.of(10) {
		case 1:
			return strings.Replace(body, `"spec":{`, `"spec":{"paused":true,"paused":true,`, 1) // warns
		case 2:
			return strings.Replace(body, `"metadata":{`, `"metadata":{"resourceVersion":"REVISION",`, 1)
		case 3:
			return strings.Replace(body, `"metadata":{`, `"metadata":{"resourceVersion":"1",`, 1)
		case 4:
			return strings.Replace(body, `"metadata":{`, `"metadata":{"finalizers":["bad"],`, 1) // warns
		case 5:
			return strings.Replace(body, `"spec":{`, `"status":{"phase":"Running"},"spec":{`, 1)
		case 6:
			return strings.Replace(body, `"spec":{`, `"spec":{"replicas":2000000000,`, 1) // the rule says no
		}
		return body
	}
	switch c.of(12) {
	case 0:
		return http.MethodPatch, name, "application/merge-patch+json",
			fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+c.of(2))
	case 1:
		return http.MethodPatch, name + "/status", "application/merge-patch+json",
			fmt.Sprintf(`{"status":{"replicas":%d}}`, c.of(2))
	case 2:
		return http.MethodDelete, pick(c, name, "b"), "", ""
	case 3:
		return http.MethodPatch, name, "application/merge-patch+json", `{"metadata":{"finalizers":null}}`
	case 4:
		return http.MethodPatch, name + "/status?fieldManager=one&force=true", applyPatch, configuration()
	}
	query := "?fieldManager=" + pick(c, "one", "one", "two", "kubectl") + pick(c, "&force=true", "&force=true", "") +
		pick(c, "", "", "&fieldValidation=Strict", "&fieldValidation=Ignore", "&dryRun=All")
	return http.MethodPatch, name + query, applyPatch, configuration()
}

var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"|"uid":"[^"]*"`)

// timeless returns the letters of an answer without what differs from server to server, and in an order of their own:
// the library lists conflicts in none, and managed fields by their times.
func timeless(s sent) string {
	letters := times.ReplaceAll(s.Body.Bytes(), []byte(`""`))
	slices.Sort(letters)
	return string(letters)
}

// choices are random bytes that decisions are made from. After the last one, every decision is for the first option.
type choices []byte

func (c *choices) of(n int) int {
	if len(*c) == 0 {
		return 0
	}
	first := int((*c)[0])
	*c = (*c)[1:]
	return first % n
}

func pick[T any](c *choices, from ...T) T { return from[c.of(len(from))] }
