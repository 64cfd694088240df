package crdhandler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/definitions"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// newProtected starts a server of CRDs, which protects all of them or only those with the annotation.
func newProtected(t *testing.T, all bool) *writes {
	t.Helper()
	return newWrites(t, func(f *writes) {
		f.config.ProtectDefinitions = all
		endpoints := newDefinitionEndpoints(f.config)
		f.scope, f.subresources = endpoints.main, endpoints.subresources
	})
}

// define creates a CRD of the group example.com with an annotation of protection; without one if it is empty.
func (f *writes) define(plural, protect string) {
	f.Helper()
	definition := definitionOf("example.com", plural, "v1", "x")
	if protect != "" {
		definition = strings.Replace(definition, `"metadata":{`,
			`"metadata":{"annotations":{"crd-server.io/protect":"`+protect+`"},`, 1)
	}
	f.do(call{method: "POST", body: definition}).is(201)
}

// storeObject stores an object of a CRD in etcd. The server does not know of it.
func (f *writes) storeObject(plural, key string) {
	f.Helper()
	if _, err := etcd.Client.Put(f.Context(), etcd.Prefix(f.T)+"/example.com/"+plural+"/"+key, "{}"); err != nil {
		f.Fatal(err)
	}
}

// terminates reports whether a CRD is being deleted.
func (f *writes) terminates(plural string) bool {
	f.Helper()
	return f.get(plural+".example.com").is(200).obj.GetDeletionTimestamp() != nil
}

// annotate changes the annotation of a CRD.
func (f *writes) annotate(plural, protect string) reply {
	f.Helper()
	return f.do(call{method: "PATCH", path: "/" + plural + ".example.com", contentType: mergePatchType,
		body: `{"metadata":{"annotations":{"crd-server.io/protect":` + protect + `}}}`})
}

// refusal is the answer to the deletion of a CRD with objects.
func refusal(plural, objects, by string) string {
	name := plural + ".example.com"
	return `Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "` + name + `": it has ` +
		objects + `, and is protected by ` + by + `; delete the objects first, or allow their deletion: ` +
		`kubectl annotate crd ` + name + ` crd-server.io/protect=false --overwrite`
}

const (
	byAnnotation = "the annotation crd-server.io/protect"
	byServer     = "the server (--protect-crds)"
)

func TestProtection(t *testing.T) {
	t.Parallel()
	f := newProtected(t, false)
	f.define("things", "true")
	f.storeObject("things", "ns/a")
	status := f.del("/things.example.com", "").fails(409, metav1.StatusReasonConflict,
		refusal("things", "1 object", byAnnotation))
	if d := status.Details; d == nil || d.Name != "things.example.com" || d.Kind != "customresourcedefinitions" ||
		len(d.Causes) != 1 || d.Causes[0] != (metav1.StatusCause{Type: definitions.CauseTypeProtected,
		Field: "metadata.annotations[crd-server.io/protect]", Message: "has 1 object"}) {
		t.Errorf("got details %+v", d)
	}
	f.storeObject("things", "ns/b")
	for _, query := range []string{"", "?dryRun=All", "?propagationPolicy=Foreground", "?propagationPolicy=Orphan"} {
		f.del("/things.example.com"+query, "").fails(409, metav1.StatusReasonConflict,
			refusal("things", "2 objects", byAnnotation))
	}
	f.del("/things.example.com", `{"preconditions":{"uid":"other"}}`).fails(409, metav1.StatusReasonConflict,
		`Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "things.example.com": `+
			`precondition failed: UID in precondition: other, UID in object meta: `+
			string(f.get("things.example.com").obj.GetUID()))
	if f.terminates("things") {
		t.Error("a refused deletion has begun")
	}

	f.annotate("things", `"false"`).is(200)
	f.del("/things.example.com?dryRun=All", "").is(200)
	f.del("/things.example.com", "").is(200)
	f.annotate("things", `"true"`).is(200)
	f.del("/things.example.com", "").is(200)
	if !f.terminates("things") {
		t.Error("a protection stops a deletion that has begun")
	}
}

// TestProtectionWithoutObjects checks that a protected CRD without objects is removed at once, so that no object can be
// created while it is terminating, unless something else has to be done first.
func TestProtectionWithoutObjects(t *testing.T) {
	t.Parallel()
	f := newProtected(t, false)
	f.define("things", "true")
	f.storeObject("thingsandmore", "ns/a")
	f.del("/things.example.com?dryRun=All", "").is(200)
	uid := f.get("things.example.com").is(200).obj.GetUID()
	want := fmt.Sprintf(`"status":"Success","details":{"name":"things.example.com","group":"apiextensions.k8s.io",`+
		`"kind":"customresourcedefinitions","uid":%q}}`, uid)
	if got := f.del("/things.example.com", "").is(200).text; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	f.get("things.example.com").is(404)

	f.define("things", "true")
	f.do(call{method: "PATCH", path: "/things.example.com", contentType: mergePatchType,
		body: `{"metadata":{"finalizers":["example.com/hold"]}}`}).is(200)
	f.del("/things.example.com", "").is(200)
	if !f.terminates("things") {
		t.Error("a CRD with a finalizer does not wait for it")
	}
}

// TestProtectionByServer checks that the server protects CRDs that say nothing, and that a CRD can opt out.
func TestProtectionByServer(t *testing.T) {
	t.Parallel()
	f := newProtected(t, true)
	for plural, protect := range map[string]string{"silent": "", "open": "false", "closed": "true"} {
		f.define(plural, protect)
		f.del("/"+plural+".example.com?dryRun=All", "").is(200) // there are no objects
		f.storeObject(plural, "ns/a")
	}
	f.del("/silent.example.com", "").fails(409, metav1.StatusReasonConflict, refusal("silent", "1 object", byServer))
	f.del("/closed.example.com", "").fails(409, metav1.StatusReasonConflict, refusal("closed", "1 object", byAnnotation))
	f.del("/open.example.com", "").is(200)
	f.annotate("closed", "null").is(200)
	f.del("/closed.example.com", "").fails(409, metav1.StatusReasonConflict, refusal("closed", "1 object", byServer))
}

// TestProtectionOfCollection checks that a deletecollection ends at a protected CRD, as it does at any other refusal.
func TestProtectionOfCollection(t *testing.T) {
	t.Parallel()
	f := newProtected(t, false)
	for plural, protect := range map[string]string{"apples": "", "pears": "true", "plums": ""} {
		f.define(plural, protect)
		f.storeObject(plural, "ns/a")
	}
	f.del("", "").fails(409, metav1.StatusReasonConflict, refusal("pears", "1 object", byAnnotation))
	if !f.terminates("apples") || f.terminates("pears") || f.terminates("plums") {
		t.Error("not the first CRD only is being deleted")
	}
}

// TestProtectionOfNewObject checks that an object is not lost that is created after the objects were counted.
func TestProtectionOfNewObject(t *testing.T) {
	t.Parallel()
	f := newProtected(t, false)
	protect := f.scope.deletion.protect
	counted := 0
	f.scope.deletion.protect = func(ctx context.Context, obj runtime.Object) ([]dynamicstorage.Condition, error) {
		conditions, err := protect(ctx, obj)
		if counted++; err == nil {
			f.storeObject("things", "ns/late")
		}
		return conditions, err
	}
	f.define("things", "true")
	f.del("/things.example.com", "").fails(409, metav1.StatusReasonConflict,
		refusal("things", "1 object", byAnnotation))
	if counted != 2 || f.terminates("things") {
		t.Errorf("counted %d times, terminating: %v", counted, f.terminates("things"))
	}

	f.define("gears", "true")
	f.do(call{method: "PATCH", path: "/gears.example.com", contentType: mergePatchType,
		body: `{"metadata":{"finalizers":["example.com/hold"]}}`}).is(200)
	f.scope.deletion.protect = func(ctx context.Context, obj runtime.Object) ([]dynamicstorage.Condition, error) {
		conditions, err := protect(ctx, obj)
		f.storeObject("gears", "ns/late")
		return conditions, err
	}
	f.del("/gears.example.com", "").fails(409, metav1.StatusReasonConflict, refusal("gears", "1 object", byAnnotation))
	if f.terminates("gears") {
		t.Error("the deletion of a CRD with a finalizer has begun")
	}
}

// TestProtectionSpelling checks that nobody takes a misspelt annotation for a protection.
func TestProtectionSpelling(t *testing.T) {
	t.Parallel()
	f := newProtected(t, false)
	f.define("things", "false")
	for _, value := range []string{"", "True", "yes", "1"} {
		f.annotate("things", `"`+value+`"`).fails(422, metav1.StatusReasonInvalid,
			`CustomResourceDefinition.apiextensions.k8s.io "things.example.com" is invalid: `+
				`metadata.annotations[crd-server.io/protect]: Unsupported value: "`+value+
				`": supported values: "true", "false"`)
	}
	f.do(call{method: "POST", body: strings.Replace(definitionOf("example.com", "others", "v1", "x"), `"metadata":{`,
		`"metadata":{"annotations":{"crd-server.io/protect":"on"},`, 1)}).is(422)
}

// TestProtectionWrittenElsewhere checks that a CRD with a misspelt annotation, which another server has written, is as
// one without, and can be changed.
func TestProtectionWrittenElsewhere(t *testing.T) {
	t.Parallel()
	f := newProtected(t, true)
	f.define("things", "false")
	key := etcd.Prefix(t) + "/apiextensions.k8s.io/customresourcedefinitions/things.example.com"
	stored, err := etcd.Client.Get(t.Context(), key)
	if err != nil || len(stored.Kvs) != 1 {
		t.Fatal(stored, err)
	}
	misspelt := strings.Replace(string(stored.Kvs[0].Value), `"crd-server.io/protect":"false"`,
		`"crd-server.io/protect":"yes"`, 1)
	if _, err := etcd.Client.Put(t.Context(), key, misspelt); err != nil {
		t.Fatal(err)
	}
	f.storeObject("things", "ns/a")
	f.do(call{method: "PATCH", path: "/things.example.com", contentType: mergePatchType,
		body: `{"metadata":{"labels":{"a":"b"}}}`}).is(200)
	f.del("/things.example.com", "").fails(409, metav1.StatusReasonConflict, refusal("things", "1 object", byServer))
	f.annotate("things", `"true"`).is(200)
	f.annotate("things", `"yes"`).is(422)
}
