package conversion

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// hook is a conversion webhook. It renames spec.color to spec.colour. A test can change its response.
type hook struct {
	calls   atomic.Int32
	objects atomic.Int32
	// respond changes the response before it is sent.
	respond func(response *apiextensionsv1.ConversionResponse)
	// convert changes an object after the renaming.
	convert func(obj *unstructured.Unstructured)
}

func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.calls.Add(1)
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(req.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID,
		Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		h.objects.Add(1)
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		if color, ok, _ := unstructured.NestedString(obj.Object, "spec", "color"); ok {
			_ = unstructured.SetNestedField(obj.Object, color, "spec", "colour")
		}
		if h.convert != nil {
			h.convert(obj)
		}
		data, err := obj.MarshalJSON()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: data})
	}
	if h.respond != nil {
		h.respond(response)
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// start serves the hook. It returns the conversion that calls the hook, and a function that stops it.
func (h *hook) start(t *testing.T) (*apiextensionsv1.CustomResourceConversion, func()) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	return conversionAt(server), server.Close
}

// startServer serves a webhook and returns the conversion that calls it.
func startServer(t testing.TB, serve http.HandlerFunc) *apiextensionsv1.CustomResourceConversion {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	return conversionAt(server)
}

func conversionAt(server *httptest.Server) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v7", "v1", "v1beta1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
		},
	}
}

func TestConvertByWebhook(t *testing.T) {
	t.Parallel()
	h := &hook{convert: func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{"converted": "yes"}) // may change
		obj.SetResourceVersion("7")                          // may not
	}}
	conversion, _ := h.start(t)
	converter := newConverter(t, newCRD(conversion))
	objs := []*unstructured.Unstructured{
		newObject(v1, "a", map[string]any{"color": "red"}),
		newObject(v2, "b", map[string]any{"colour": "green"}),
		newObject(v1, "c", map[string]any{"color": "blue"}),
	}
	before := copies(objs)
	got, err := converter.Convert(context.Background(), objs, v2)
	if err != nil {
		t.Fatal(err)
	}
	want := []*unstructured.Unstructured{
		newObject(v2, "a", map[string]any{"colour": "red"}),
		newObject(v2, "b", map[string]any{"colour": "green"}),
		newObject(v2, "c", map[string]any{"colour": "blue"}),
	}
	want[0].SetLabels(map[string]string{"converted": "yes"})
	want[2].SetLabels(map[string]string{"converted": "yes"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, objs); diff != "" {
		t.Errorf("objects were modified (-before +after):\n%s", diff)
	}
	if calls, objects := h.calls.Load(), h.objects.Load(); calls != 1 || objects != 2 {
		t.Errorf("%d objects went in %d requests, want 2 in 1", objects, calls)
	}
	if got[1] != objs[1] {
		t.Error("an object that is in the version already should be returned as it is")
	}

	if _, err := converter.Convert(context.Background(), got, v2); err != nil || h.calls.Load() != 1 {
		t.Errorf("nothing to convert: %v, %d requests", err, h.calls.Load())
	}

	one, err := converter.Convert(context.Background(), objs[:1], v2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:1], one); diff != "" {
		t.Errorf("one object (-want +got):\n%s", diff)
	}
}

// TestWebhookThatFails checks that the errors equal those of upstream.
func TestWebhookThatFails(t *testing.T) {
	t.Parallel()
	const from = "example.com/v1, Kind=Widget"
	for _, tc := range []struct {
		name string
		hook *hook
		// one and many are the errors for one object and for two.
		one, many string
	}{
		{
			name: "failure with a message",
			hook: &hook{respond: func(r *apiextensionsv1.ConversionResponse) {
				r.Result = metav1.Status{Status: metav1.StatusFailure, Message: "no"}
			}},
			one: "conversion webhook for " + from + " failed: no",
		},
		{
			name: "failure without one",
			hook: &hook{respond: func(r *apiextensionsv1.ConversionResponse) { r.Result.Status = "" }},
			one:  "conversion webhook for " + from + " failed: response.result.status was '', not 'Success'",
		},
		{
			name: "another uid",
			hook: &hook{respond: func(r *apiextensionsv1.ConversionResponse) { r.UID = "x" }},
			one:  "conversion webhook for " + from + " failed: expected response.uid=",
		},
		{
			name: "objects missing",
			hook: &hook{respond: func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = r.ConvertedObjects[1:] }},
			one:  "conversion webhook for " + from + " returned 0 objects, expected 1",
			many: "conversion webhook for " + from + " returned 1 objects, expected 2",
		},
		{
			name: "another version",
			hook: &hook{convert: func(obj *unstructured.Unstructured) { obj.SetAPIVersion("example.com/v1") }},
			one: "conversion webhook for " + from +
				" returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
			many: "conversion webhook for " + from +
				" returned invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received " +
				"example.com/v1)",
		},
		{
			name: "another name",
			hook: &hook{convert: func(obj *unstructured.Unstructured) { obj.SetName("x") }},
			one:  "conversion webhook for " + from + " returned invalid object: must have the same name: a != x",
			many: "conversion webhook for " + from +
				" returned invalid converted object at index 0: must have the same name: a != x",
		},
		{
			name: "invalid labels",
			hook: &hook{convert: func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"a": "-"}) }},
			one:  "conversion webhook for " + from + " returned invalid metadata: metadata.labels: Invalid value: \"-\"",
			many: "conversion webhook for " + from +
				" returned invalid metadata in object at index 0: metadata.labels: Invalid value: \"-\"",
		},
		{
			name: "too deep",
			hook: &hook{convert: func(obj *unstructured.Unstructured) { obj.Object["spec"] = nested(1001) }},
			one: "conversion webhook for " + from + " returned invalid object: objects and lists may be nested 1000 levels " +
				"deep",
		},
		{
			name: "too many annotations",
			hook: &hook{convert: func(obj *unstructured.Unstructured) { obj.SetAnnotations(numbered(10_001)) }},
			one: "conversion webhook for " + from +
				" returned invalid object: metadata.annotations has 10001 entries, at most 10000 are allowed",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conversion, _ := tc.hook.start(t)
			converter := newConverter(t, newCRD(conversion))
			objs := []*unstructured.Unstructured{newObject(v1, "a", nil), newObject(v1, "b", nil)}
			if tc.many == "" {
				tc.many = tc.one
			}
			for count, want := range map[int]string{1: tc.one, 2: tc.many} {
				_, err := converter.Convert(context.Background(), objs[:count], v2)
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%d objects: got error %v, want %q", count, err, want)
				}
			}
		})
	}
}

// nested returns an object of so many levels.
func nested(levels int) map[string]any {
	obj := map[string]any{}
	for range levels - 1 {
		obj = map[string]any{"a": obj}
	}
	return obj
}

// numbered returns n members.
func numbered(n int) map[string]string {
	members := map[string]string{}
	for i := range n {
		members[fmt.Sprint("a", i)] = "b"
	}
	return members
}

// TestWebhookThatIsDown checks that only conversions that need the webhook fail.
func TestWebhookThatIsDown(t *testing.T) {
	t.Parallel()
	conversion, stop := (&hook{}).start(t)
	stop()
	converter := newConverter(t, newCRD(conversion))
	objs := []*unstructured.Unstructured{newObject(v2, "a", nil)}
	if _, err := converter.Convert(context.Background(), objs, v2); err != nil {
		t.Errorf("objects in the version already: %v", err)
	}
	_, err := converter.Convert(context.Background(), objs, v1)
	if err == nil || !strings.HasPrefix(err.Error(), "conversion webhook for example.com/v2, Kind=Widget failed: ") {
		t.Errorf("got error %v", err)
	}
}

// TestWebhookEmptyObject checks that an object with nothing but its type is converted without the webhook, and is not
// modified.
func TestWebhookEmptyObject(t *testing.T) {
	t.Parallel()
	h := &hook{}
	conversion, _ := h.start(t)
	converter := newConverter(t, newCRD(conversion))
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(v1.WithKind("Widget"))
	got, err := converter.Convert(context.Background(), []*unstructured.Unstructured{obj}, v2)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].GroupVersionKind() != v2.WithKind("Widget") || obj.GroupVersionKind() != v1.WithKind("Widget") ||
		h.calls.Load() != 0 {
		t.Errorf("got %v from %v with %d requests", got[0], obj, h.calls.Load())
	}
}

func TestWebhookThatIsAService(t *testing.T) {
	t.Parallel()
	crd := newCRD(&apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "n",
				Name: "s"}},
		},
	})
	newConverter(t, crd)
	if crd.Spec.Conversion.Webhook.ClientConfig.Service.Port != nil {
		t.Error("the CRD was modified")
	}
}
