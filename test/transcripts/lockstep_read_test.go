package transcripts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
)

// reading lists, gets, watches and deletes the objects of a few writes, with all parameters in all combinations.
func reading(kinds []*kind) script {
	s := script{name: "reads"}
	for i := range 14 {
		s.prologue = append(s.prologue, func(known *side) request { return populate(kinds, known, i) })
	}
	s.step = func(random *rand.Rand, known *side) request {
		r := read{Rand: random, place: pick(random, kinds).in(random, known.space), known: known, query: url.Values{},
			header: map[string]string{}}
		return r.request()
	}
	return s
}

// populate returns one of the writes at the beginning of a sequence of reads.
func populate(kinds []*kind, known *side, i int) request {
	k := kinds[i%len(kinds)]
	random := rand.New(rand.NewPCG(1, uint64(i)))
	p := k.in(random, known.space)
	name := fmt.Sprintf("n%d-%s", i, known.space)
	if i > 10 { // later writes change the objects of earlier ones
		name = fmt.Sprintf("n%d-%s", i-9, known.space)
		p = kinds[(i-9)%len(kinds)].in(random, known.space)
		return request{method: "PATCH", path: p.collection() + "/" + name,
			header: map[string]string{"Content-Type": mediaTypes["merge"]},
			body:   encode(map[string]any{"metadata": map[string]any{"labels": map[string]any{"b": "changed"}}})}
	}
	color := []string{"red", "green", "blue"}[i%3]
	object := map[string]any{"apiVersion": p.apiVersion(), "kind": p.kind.kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"space": known.space, "a": fmt.Sprint(i % 3)}}}
	if properties, _ := p.schema["properties"].(map[string]any); properties["spec"] == nil { // a built-in kind
		maps.Copy(object, sampleObject(random, p.schema))
	} else {
		object["spec"] = map[string]any{"color": color, "both": "x"}
	}
	return request{method: "POST", path: p.collection(), header: map[string]string{"Content-Type": "application/json"},
		body: encode(object)}
}

// read builds a read or a delete.
type read struct {
	*rand.Rand
	place
	known  *side
	query  url.Values
	header map[string]string
}

var accepts = []string{
	"application/json", "application/json", "application/json", "application/yaml",
	"application/vnd.kubernetes.protobuf", "*/*", "text/html", "",
	"application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
	"application/json;as=Table;g=meta.k8s.io;v=v2",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json",
	"application/json;as=Other;g=meta.k8s.io;v=v1",
	"application/vnd.kubernetes.protobuf, application/json", "application/json;q=0.1, application/yaml;q=0.9",
	"application/cbor;as=Table;g=meta.k8s.io;v=v1, application/json", ";", "application/json;pretty=1",
}

func (r *read) request() request {
	if chance(r.Rand, 60) {
		r.header["Accept"] = pick(r.Rand, accepts)
	}
	name := fmt.Sprintf("n%d-%s", r.IntN(12), r.known.space)
	item := r.collection() + "/" + name
	switch sort := r.IntN(100); {
	case sort < 18:
		r.maybe(30, "resourceVersion", r.revisions()...)
		r.maybe(3, "pretty", "true", "0")
		return r.ask("GET", item+pick(r.Rand, []string{"", "", "", "/status", "/scale"}))
	case sort < 72:
		r.selectors()
		r.versions()
		r.maybe(45, "limit", "1", "2", "3", "500", "0", "-1", "x", "")
		if r.known.token != "" {
			r.maybe(25, "continue", r.known.token)
		}
		r.maybe(2, "continue", "x", "")
		return r.ask("GET", r.collection())
	case sort < 86:
		return r.watch()
	case sort < 95:
		return r.delete(item)
	default:
		r.selectors()
		r.maybe(30, "dryRun", "All", "x")
		r.maybe(30, "limit", "1", "2")
		r.query.Add("labelSelector", "space="+r.known.space)
		return r.ask("DELETE", r.collection())
	}
}

// ask returns the request.
func (r *read) ask(method, path string) request {
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return request{method: method, path: path, header: r.header}
}

// maybe sets a parameter to one of several values.
func (r *read) maybe(percent int, name string, values ...string) {
	if chance(r.Rand, percent) {
		r.query.Set(name, pick(r.Rand, values))
	}
}

// revisions are values of resourceVersion: those of objects, and invalid ones.
func (r *read) revisions() []string {
	return append([]string{"0", "", "x", "-1", "1e3", "007"}, r.known.revisions...)
}

func (r *read) versions() {
	r.maybe(40, "resourceVersion", r.revisions()...)
	r.maybe(35, "resourceVersionMatch", "Exact", "NotOlderThan", "Exact", "NotOlderThan", "Other", "")
	r.maybe(3, "sendInitialEvents", "true", "false", "x")
	r.maybe(3, "timeoutSeconds", "5", "x", "-1", "0")
	r.maybe(3, "allowWatchBookmarks", "true", "x")
	r.maybe(3, "pretty", "true", "x")
}

func (r *read) selectors() {
	// The space of the sequence separates cluster-scoped objects.
	labels := pick(r.Rand, []string{"", "", ",a=1", ",a!=1", ",a in (0,2)", ",a notin (1)", ",b", ",!b", ",b=changed",
		",a==0", ",a>1", ",a=x y", ",(", ",a in", ",=", ",a=1,a=2"})
	if r.namespaced && chance(r.Rand, 60) {
		labels = strings.TrimPrefix(labels, ",")
	} else {
		labels = "space=" + r.known.space + labels
	}
	if labels != "" {
		r.query.Set("labelSelector", labels)
	}
	r.maybe(25, "fieldSelector", "metadata.name=n3-"+r.known.space, "metadata.name!=n3-"+r.known.space,
		"metadata.namespace="+r.known.space, "metadata.namespace=other",
		"spec.color=red", "spec.color!=red", "spec.color=red,metadata.name!=n0-"+r.known.space, "spec.other=x", "x",
		"type=Opaque", "reason=Made", "reason!=Made", "involvedObject.namespace="+r.known.space, "regarding.name=a",
		"status.phase=Active", "status.phase!=Active",
		"=", "metadata.name=n1-"+r.known.space+",metadata.name=n2-"+r.known.space, "", "metadata.uid=1")
}

// watch opens a watch for a moment.
func (r *read) watch() request {
	r.query.Set("watch", pick(r.Rand, []string{"true", "1", "true", "1", "0", "x"}))
	r.selectors()
	// Revisions older than upstream's cache are left out: upstream ends such a watch, and ours continues.
	r.maybe(70, "resourceVersion", slices.DeleteFunc(r.revisions(),
		func(version string) bool { return version == "007" })...)
	if chance(r.Rand, 35) {
		r.query.Set("sendInitialEvents", pick(r.Rand, []string{"true", "true", "false"}))
		r.maybe(90, "resourceVersionMatch", "NotOlderThan", "NotOlderThan", "Exact", "x")
		r.maybe(90, "allowWatchBookmarks", "true", "true", "false", "x")
	} else {
		r.maybe(10, "resourceVersionMatch", "NotOlderThan", "Exact")
		r.maybe(20, "allowWatchBookmarks", "true", "x")
	}
	// A negative timeout ends a watch before or after its first events, at random.
	r.maybe(10, "timeoutSeconds", "1", "x", "0")
	r.maybe(5, "limit", "1", "x")
	if strings.Contains(r.header["Accept"], "PartialObjectMetadataList") {
		delete(r.header, "Accept") // upstream aborts such a watch
	}
	asked := r.ask("GET", r.collection())
	asked.watched = watchTime
	return asked
}

// watchTime is how long a watch is read.
const watchTime = 400 * time.Millisecond

// delete deletes an object, with options in the query, in the body, or in both.
func (r *read) delete(path string) request {
	r.maybe(15, "dryRun", "All", "x", "")
	r.maybe(15, "gracePeriodSeconds", "0", "5", "-1", "x")
	r.maybe(15, "propagationPolicy", "Foreground", "Orphan", "Background", "x")
	r.maybe(10, "orphanDependents", "true", "false", "x")
	options := map[string]any{}
	set := func(percent int, name string, values ...any) {
		if chance(r.Rand, percent) {
			options[name] = pick(r.Rand, values)
		}
	}
	set(15, "gracePeriodSeconds", 0, 5, -1, "x", nil)
	set(15, "propagationPolicy", "Foreground", "Orphan", "Background", "x", 3)
	set(15, "orphanDependents", true, false, "x")
	set(15, "dryRun", []any{"All"}, []any{"x"}, []any{}, "All")
	set(10, "preconditions", map[string]any{"uid": "x"}, map[string]any{"resourceVersion": "1"}, map[string]any{},
		map[string]any{"uid": nil}, 3)
	set(5, "kind", "DeleteOptions", "Other")
	set(5, "apiVersion", "v1", "meta.k8s.io/v1", lockstepGroup+"/v1", "x/y/z")
	set(3, "unknown", 1)
	set(3, "ignoreStoreReadErrorWithClusterBreakingPotential", true, false)
	asked := r.ask("DELETE", path)
	if len(options) > 0 {
		asked.body = encode(options)
		asked.header["Content-Type"] = pick(r.Rand, []string{"application/json", "application/json", "application/yaml",
			"application/vnd.kubernetes.protobuf", "text/plain", ""})
	}
	return asked
}
