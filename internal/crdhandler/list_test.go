package crdhandler

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

func TestList(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	empty := r.get("/gadgets")
	if list, _ := empty.list(t); list.GetResourceVersion() == "" ||
		!strings.Contains(string(empty.body), `"items":[]`) {
		t.Errorf("empty list: %s", empty.body)
	}
	r.put("a/z", "red")
	r.put("b/x", "red")
	r.put("b/y", "blue")
	last := r.put("bc/w", "blue")
	for name, tc := range map[string]struct {
		path, query string
		want        string
	}{
		"all":       {"/gadgets", "", "z x y w"},
		"any state": {"/gadgets", "resourceVersion=0&limit=1", "z x y w"},
		"not older": {"/gadgets", fmt.Sprint("resourceVersion=", last), "z x y w"},
		"exact": {"/gadgets", fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=Exact", last-1),
			"z x y"},
		"namespace":                 {"/namespaces/b/gadgets", "", "x y"},
		"no such namespace":         {"/namespaces/none/gadgets", "", ""},
		"label":                     {"/gadgets", "labelSelector=color%3Dred", "z x"},
		"label in namespace":        {"/namespaces/b/gadgets", "labelSelector=color+in+(blue,green)", "y"},
		"name":                      {"/namespaces/b/gadgets", "fieldSelector=metadata.name%3Dx", "x"},
		"absent name":               {"/namespaces/b/gadgets", "fieldSelector=metadata.name%3Dz", ""},
		"name across namespaces":    {"/gadgets", "fieldSelector=metadata.name%3Dw", "w"},
		"namespace field":           {"/gadgets", "fieldSelector=metadata.namespace%3Db", "x y"},
		"declared field":            {"/gadgets", "fieldSelector=spec.color%3Dblue", "y w"},
		"declared field and label":  {"/gadgets", "fieldSelector=spec.color%3Dblue&labelSelector=color!%3Dblue", ""},
		"name that another one has": {"/namespaces/b/gadgets", "fieldSelector=metadata.name%3Dx,spec.color%3Dblue", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.get(tc.path + "?" + tc.query)
			list, names := got.list(t)
			if names != tc.want {
				t.Errorf("got %s, want %s", names, tc.want)
			}
			if list.GetKind() != "GadgetList" || list.GetAPIVersion() != "example.com/v1" ||
				list.GetResourceVersion() == "" {
				t.Errorf("head of %s", got.body)
			}
			for _, item := range list.Items {
				if item.GetKind() != "Gadget" || item.GetResourceVersion() == "" {
					t.Errorf("item %v", item)
				}
			}
		})
	}
}

func TestListInPages(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	for n := range 7 {
		r.put(fmt.Sprint("ns/g", n), []string{"red", "blue"}[n%2])
	}
	for _, tc := range []struct {
		selector  string
		want      string
		remaining []int64 // -1: not known
	}{
		{"", "g0 g1 g2|g3 g4 g5|g6", []int64{4, 1, -1}},
		{"&labelSelector=color%3Dred", "g0 g2 g4|g6", []int64{-1, -1}},
	} {
		for _, path := range []string{"/namespaces/ns/gadgets?limit=3", "/gadgets?limit=3"} {
			var pages []string
			next, revision := "", ""
			for {
				list, names := r.get(path + tc.selector + "&continue=" + next).list(t)
				remaining := int64(-1)
				if count := list.GetRemainingItemCount(); count != nil {
					remaining = *count
				}
				if remaining != tc.remaining[len(pages)] {
					t.Errorf("%d remain after page %d", remaining, len(pages))
				}
				pages = append(pages, names)
				if revision != "" && list.GetResourceVersion() != revision {
					t.Errorf("page %d is of revision %s, not %s", len(pages), list.GetResourceVersion(), revision)
				}
				revision = list.GetResourceVersion()
				if next = list.GetContinue(); next == "" {
					break
				}
				r.put("ns/g3"+strings.Repeat("x", len(pages)), "red") // later than the revision of the list
			}
			for n := range len(pages) {
				r.remove("ns/g3" + strings.Repeat("x", n))
				if n == 0 {
					r.put("ns/g3", "blue")
				}
			}
			if got := strings.Join(pages, "|"); got != tc.want {
				t.Errorf("pages %s, want %s", got, tc.want)
			}
		}
	}
}

func TestListAfterCompaction(t *testing.T) {
	t.Parallel()
	for _, memory := range []string{"empty", "new", "old"} {
		t.Run("memory: "+memory, func(t *testing.T) {
			t.Parallel()
			r := newReadingOn(t, etcdtest.New(t))
			if memory == "old" { // the cache has all events
				r.get("/gadgets").list(t)
			}
			first := r.put("ns/a", "red")
			r.put("ns/b", "red")
			r.put("ns/c", "red")
			if memory != "empty" {
				r.get("/gadgets").list(t)
			}
			// The present state of the resource is older than the compacted revision.
			last := r.put("ns/d", "red")
			outside, err := r.client.Put(t.Context(), "outside", "")
			if err != nil {
				t.Fatal(err)
			}
			r.compact(outside.Header.Revision)
			r.checkExpired(t, first, last)
		})
	}
}

// checkExpired checks lists at revisions that are compacted. There are the gadgets a to d, a since the first revision
// and d since the last.
func (r *reading) checkExpired(t *testing.T, first, last int64) {
	t.Helper()
	for _, revision := range []int64{first, last} {
		for _, query := range []string{"resourceVersionMatch=Exact", "limit=1", "resourceVersionMatch=Exact&fieldSelector=" +
			"metadata.name%3Da%2Cmetadata.namespace%3Dns"} {
			status := r.get(fmt.Sprintf("/gadgets?resourceVersion=%d&%s", revision, query)).status(t, http.StatusGone)
			if status.Reason != metav1.StatusReasonExpired ||
				status.Message != "The resourceVersion for the provided list is too old." {
				t.Errorf("%s: %v", query, status)
			}
		}
		token := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil,
			`{"v":"meta.k8s.io/v1","rv":%d,"start":"ns/a\u0000"}`, revision))
		status := r.get("/gadgets?limit=1&continue="+token).status(t, http.StatusGone)
		if status.Reason != metav1.StatusReasonExpired || status.Continue == "" {
			t.Fatalf("continue token: %v", status)
		}
		list, names := r.get("/gadgets?limit=1&continue=" + status.Continue).list(t)
		if names != "b" || list.GetContinue() == "" {
			t.Errorf("inconsistent continuation: %s", names)
		}
		if _, names := r.get("/gadgets?limit=2&continue=" + list.GetContinue()).list(t); names != "c d" {
			t.Errorf("its continuation: %s", names)
		}
		r.get(fmt.Sprintf("/gadgets?resourceVersionMatch=NotOlderThan&resourceVersion=%d", revision)).list(t)
	}
}

func TestListFailures(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	for query, want := range map[string]struct {
		code    int
		message string
	}{
		"resourceVersion=x": {400,
			`invalid resource version: resourceVersion: Invalid value: "x"`},
		"resourceVersionMatch=Exact": {422,
			`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless ` +
				`resourceVersion is provided`},
		"resourceVersion=0&resourceVersionMatch=Exact": {422,
			`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is ` +
				`forbidden for resourceVersion "0"`},
		"resourceVersion=1&resourceVersionMatch=Other": {422,
			`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Other"`},
		"sendInitialEvents=true": {422,
			`ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`},
		"continue=x": {400,
			"invalid continue token: continue key is not valid"},
		"labelSelector=a%3Db%3Dc%3D":  {400, "found '=', expected: "},
		"fieldSelector=spec.size%3D1": {400, "field label not supported: spec.size"},
		"fieldSelector=metadata.name": {400,
			"invalid selector: 'metadata.name'; can't understand 'metadata.name'"},
		"limit=x": {400, `strconv.ParseInt: parsing "x": invalid syntax`},
		fmt.Sprint("resourceVersion=", revision+future): {504,
			fmt.Sprintf("Timeout: Too large resource version: %d, current: ", revision+future)},
		fmt.Sprintf("resourceVersion=%d&limit=1", 1<<40): {504,
			fmt.Sprintf("Timeout: Too large resource version: %d, current: ", 1<<40)},
		"watch=true&sendInitialEvents=true": {422,
			`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting ` +
				`resourceVersionMatch to NotOlderThan`},
		"watch=true&resourceVersion=x": {500, `resourceVersion: Invalid value: "x"`},
		"watch=true&resourceVersion=1&resourceVersionMatch=x": {422,
			`ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for ` +
				`watch unless sendInitialEvents is provided`},
	} {
		t.Run(query, func(t *testing.T) {
			if status := r.get("/gadgets?"+query).status(t, want.code); !strings.HasPrefix(status.Message,
				want.message) {
				t.Errorf("message %s", status.Message)
			}
		})
	}
	status := r.get("/gadgets", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").status(t, 406)
	if want := "you requested PartialObjectMetadata, but the requested object is a list " +
		"(*unstructured.UnstructuredList)"; status.Message != want {
		t.Errorf("metadata of a list: %s", status.Message)
	}
}

func TestListOfCorruptObjects(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	r.putRaw("ns/b", "{")
	r.putRaw("ns/c", "{")
	status := r.get("/gadgets").status(t, 500)
	if status.Reason != metav1.StatusReasonStoreReadError || len(status.Details.Causes) != 2 ||
		!strings.HasPrefix(status.Message, "failed to read one or more gadgets.example.com from the storage: ") ||
		!strings.HasSuffix(status.Message, "(and 1 more)") {
		t.Errorf("status %v", status)
	}
}

func TestListFormats(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	r.put("ns/b", "blue")
	r.put("ns/c", "blue")
	for name, tc := range map[string]struct{ query, accept, contentType, has string }{
		"pretty": {"&pretty=1", "", "application/json",
			"{\n  \"apiVersion\": \"example.com/v1\",\n  \"items\": [\n    {\n      \"apiVersion\""},
		"yaml": {"", "application/yaml", "application/yaml",
			"apiVersion: example.com/v1\nitems:\n- apiVersion: example.com/v1\n"},
		"table": {"", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json",
			`"remainingItemCount":1},"columnDefinitions":[`},
		"metadata": {"", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json",
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"`},
		"old metadata": {"", "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
			"application/json", `"apiVersion":"meta.k8s.io/v1beta1"`},
		"metadata in yaml": {"", "application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/yaml",
			"kind: PartialObjectMetadataList"},
		"protobuf": {"", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
			"application/vnd.kubernetes.protobuf", "k8s\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.get("/gadgets?limit=2"+tc.query, "Accept", tc.accept)
			if got.code != http.StatusOK || got.header.Get("Content-Type") != tc.contentType ||
				!strings.Contains(string(got.body), tc.has) {
				t.Errorf("%d, %s: %s", got.code, got.header.Get("Content-Type"), got.body)
			}
		})
	}
}

func TestLongListIsCompressed(t *testing.T) {
	t.Parallel()
	r := newReadingOn(t, etcdtest.New(t)) // lists have equal revisions only if no other test writes
	for n := range 20 {
		r.put(fmt.Sprintf("ns/g%02d", n), strings.Repeat("red", 4000))
	}
	plain := r.get("/gadgets", "Accept-Encoding", "identity")
	got := r.get("/gadgets", "Accept-Encoding", "gzip")
	if body := got.unzipped(t); !bytes.Equal(body, plain.body) {
		t.Errorf("%d bytes, want %d", len(body), len(plain.body))
	}
	if short := r.get("/gadgets?"+url.Values{"fieldSelector": {"metadata.name=g01"}}.Encode(), "Accept-Encoding",
		"gzip"); short.header.Get("Content-Encoding") != "" {
		t.Errorf("header of a short list: %v", short.header)
	}
}

// leavingSelector is a label selector that cancels the request at the first object.
type leavingSelector struct {
	labels.Selector
	leave   func()
	matched int
}

func (s *leavingSelector) Empty() bool { return false }

func (s *leavingSelector) Matches(labels.Labels) bool {
	s.leave()
	s.matched++
	return true
}

// TestSelectionStopsAfterClientDisconnects checks that a list stops matching objects when the client has disconnected.
func TestSelectionStopsAfterClientDisconnects(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	for n := range 128 {
		r.put(fmt.Sprintf("ns/g%03d", n), "red")
	}
	ctx, leave := context.WithCancel(t.Context())
	selector := &leavingSelector{Selector: labels.Everything(), leave: leave}
	if _, err := r.scope.readPage(ctx, "ns", &metainternal.ListOptions{LabelSelector: selector},
		r.scope.Objects.Viewer.Views); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if selector.matched >= 64 {
		t.Errorf("%d objects were looked at", selector.matched)
	}
}
