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

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestNoOpCheck sends the same random writes to a server that skips applies that change nothing, and to one that does
// not skip any because it has an admission plugin that handles updates. It checks that the responses are equal. The
// first has a plugin too, which has nothing to do.
func TestNoOpCheck(t *testing.T) {
	worked, skipped := 0, 0
	start := func() (checking, other *writing) {
		checking = newWriting(t, etcdtest.New(t), admission.NewHandler())
		for _, scope := range []*requestScope{checking.served.main, checking.served.status} {
			scope.Strategy = countingStrategy{scope.Strategy, &worked}
		}
		return checking, newWriting(t, etcdtest.New(t), admission.NewHandler(admission.Update))
	}
	checking, other := start()
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		bytes := make(choices, 12)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		method, path, contentType, body := randomWrite(&bytes)
		if strings.Contains(body, "REVISION") {
			read := checking.send(http.MethodGet, "a", "", "").Body.String()
			revision := regexp.MustCompile(`"resourceVersion":"(\d+)"`).FindStringSubmatch(read)
			if revision == nil {
				continue
			}
			body = strings.ReplaceAll(body, "REVISION", revision[1])
		}
		for range 3 {
			earlyInSecond(t)
			for _, w := range []*writing{checking, other} {
				// Wait for the last write: an attempt on an older state may add warnings.
				w.send(http.MethodGet, "a", "", "")
			}
			before, second := worked, time.Now().Unix()
			got, want := checking.send(method, path, contentType, body), other.send(method, path, contentType, body)
			if time.Now().Unix() != second { // the managed fields may differ from now on
				checking, other = start()
				break
			}
			if got.Code != want.Code || comparableBytes(got) != comparableBytes(want) ||
				!reflect.DeepEqual(checking.heard, other.heard) {
				t.Fatalf("write %d: %s %s %s\ngot  %d %v %s\nwant %d %v %s", n, method, path, body,
					got.Code, checking.heard, got.Body, want.Code, other.heard, want.Body)
			}
			if got.Code == http.StatusOK && method == http.MethodPatch && worked == before {
				skipped++
			}
		}
	}
	if skipped < 20 {
		t.Errorf("only %d of 600 writes were skipped", skipped)
	}
	t.Logf("%d of 600 writes were skipped", skipped)
}

// earlyInSecond waits until at least 300 ms of the current second are left: managed fields have times in seconds. That
// is usually enough for what a test does then, which has to look.
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

// TestNoOpCheckInLaterSecond applies a configuration that sets the status, which the server ignores. In a later second
// this changes the order of the managed fields. The test checks that the server does not skip that write.
func TestNoOpCheckInLaterSecond(t *testing.T) {
	body := strings.Replace(machine("a", 1), `"spec":{`, `"status":{"phase":"Running"},"spec":{`, 1)
	var w *writing
	apply := func(manager string) string {
		answer := w.send(http.MethodPatch, "a?force=true&fieldManager="+manager, applyPatch, body)
		return regexp.MustCompile(`"resourceVersion":"\d+"`).FindString(answer.Body.String())
	}
	var start time.Time
	var revision string
	for again := true; again; again = !time.Now().Before(start.Add(time.Second)) { // once within a second
		w = newWriting(t, etcd, nil)
		earlyInSecond(t)
		start = time.Now().Truncate(time.Second)
		apply("one")
		revision = apply("two")
		for range 2 {
			if apply("one") != revision && time.Now().Before(start.Add(time.Second)) {
				t.Fatal("an apply in the same second changed the object")
			}
		}
	}
	until(t, start.Add(time.Second))
	moved := apply("one")
	if moved == revision {
		t.Error("an apply in a later second did not change the order of managed fields")
	}
	until(t, start.Add(2*time.Second))
	if apply("one") != moved {
		t.Error("an apply of the last manager changed the object")
	}
}

// countingStrategy counts the writes that are not skipped.
type countingStrategy struct {
	resource.Strategy
	count *int
}

func (s countingStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	*s.count++
	s.Strategy.PrepareForCreate(ctx, obj)
}

func (s countingStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	*s.count++
	s.Strategy.PrepareForUpdate(ctx, obj, old)
}

const applyPatch = "application/apply-patch+yaml"

// randomWrite returns a random write of one of two objects.
func randomWrite(c *choices) (method, path, contentType, body string) {
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
			return strings.Replace(body, `"spec":{`, `"spec":{"replicas":2000000000,`, 1) // violates the rule
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

// comparableBytes returns the sorted bytes of a response, without times and UIDs. Their order differs: the library
// lists conflicts in random order and managed fields by time.
func comparableBytes(s sent) string {
	letters := times.ReplaceAll(s.Body.Bytes(), []byte(`""`))
	slices.Sort(letters)
	return string(letters)
}

// choices is a source of decisions made from random bytes. At its end every decision is the first option.
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
