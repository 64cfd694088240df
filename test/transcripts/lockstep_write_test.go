package transcripts

import (
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// writing sends writes of all kinds, by several managers, in all versions.
func writing(kinds []*kind) script {
	return script{name: "writes", step: func(random *rand.Rand, known *side) request {
		// A sequence uses one kind, so that its steps meet.
		p := kinds[known.sequence%uint64(len(kinds))].in(random, known.space)
		w := write{Rand: random, place: p, known: known, object: pick(random, p.names()), query: url.Values{}}
		return w.request()
	}}
}

// write builds a write.
type write struct {
	*rand.Rand
	place
	known  *side
	object string
	query  url.Values
}

var mediaTypes = map[string]string{
	"merge": "application/merge-patch+json", "json": "application/json-patch+json",
	"apply": "application/apply-patch+yaml", "strategic": "application/strategic-merge-patch+json",
}

// request returns a random kind of write.
func (w *write) request() request {
	w.parameters()
	path := w.collection() + "/" + w.object
	subresource := w.subresource()
	sort := w.IntN(100)
	if w.known.objects[w.object] == nil && chance(w.Rand, 80) {
		subresource, sort = "", pick(w.Rand, []int{0, 60})
	}
	switch {
	case subresource == "/scale":
		return w.scale(path + subresource)
	case sort < 5:
		return w.send("POST", w.collection(), "application/json", encode(w.fresh()))
	case sort < 28:
		return w.send("PUT", path+subresource, "application/json", encode(w.updated()))
	case sort < 44:
		return w.send("PATCH", path+subresource, mediaTypes["merge"], encode(w.mergePatch()))
	case sort < 54:
		return w.send("PATCH", path+subresource, mediaTypes["json"], encode(w.jsonPatch()))
	case sort < 86:
		w.query.Set("fieldManager", pick(w.Rand, []string{"alice", "bob", "carol"}))
		if chance(w.Rand, 50) {
			w.query.Set("force", pick(w.Rand, []string{"true", "true", "true", "1", "false", "x"}))
		}
		return w.send("PATCH", path+subresource, mediaTypes["apply"], encode(w.applied()))
	case sort < 88:
		return w.send("PATCH", path+subresource, mediaTypes["strategic"], encode(w.mergePatch()))
	case sort < 94:
		return w.remove(path)
	default:
		return request{method: "GET", path: path + subresource}
	}
}

// parameters returns query parameters of writes.
func (w *write) parameters() {
	if chance(w.Rand, 60) {
		w.query.Set("fieldManager", pick(w.Rand, []string{"alice", "bob", "carol"}))
	}
	if chance(w.Rand, 40) {
		w.query.Set("fieldValidation", pick(w.Rand, []string{"Strict", "Warn", "Ignore", "Ignore"}))
	}
	if chance(w.Rand, 8) {
		w.query.Set("dryRun", "All")
	}
	if chance(w.Rand, 2) {
		w.query.Set(pick(w.Rand, []string{"fieldValidation", "dryRun", "force", "pretty", "fieldManager"}),
			pick(w.Rand, []string{"x", "", "true", strings.Repeat("m", 130), "a\x07"}))
	}
}

func (w *write) subresource() string {
	switch sort := w.IntN(100); {
	case sort < 15:
		return pick(w.Rand, append([]string{"/status"}, w.others...))
	case sort < 24 && w.scales, sort < 16:
		return "/scale"
	default:
		return ""
	}
}

func (w *write) send(method, path, mediaType string, body []byte) request {
	if len(w.query) > 0 {
		path += "?" + w.query.Encode()
	}
	return request{method: method, path: path, header: map[string]string{"Content-Type": mediaType}, body: body}
}

// fresh returns a new object.
func (w *write) fresh() map[string]any {
	object, ok := sample(w.Rand, w.schema).(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	meta := map[string]any{"name": w.object}
	if chance(w.Rand, 40) {
		alterMeta(w.Rand, meta)
	}
	object["metadata"] = meta
	return w.typed(object)
}

// typed sets the kind of the object, sometimes a wrong one.
func (w *write) typed(object map[string]any) map[string]any {
	object["apiVersion"], object["kind"] = w.apiVersion(), w.kind.kind
	if chance(w.Rand, 2) {
		object[pick(w.Rand, []string{"apiVersion", "kind"})] = pick(w.Rand,
			[]any{"", "Other", lockstepGroup + "/v2", lockstepGroup + "/v1beta1", nil})
	}
	return object
}

// newest returns a copy of the last version of the object.
func (w *write) newest() map[string]any {
	if object := w.known.objects[w.object]; object != nil {
		return copied(object)
	}
	return nil
}

// updated returns the newest object with changes.
func (w *write) updated() map[string]any {
	object := w.newest()
	if object == nil || chance(w.Rand, 15) {
		return w.fresh()
	}
	alter(w.Rand, object, w.schema)
	meta, ok := object["metadata"].(map[string]any)
	if ok && chance(w.Rand, 30) {
		delete(meta, "resourceVersion")
	}
	if ok && chance(w.Rand, 30) {
		alterMeta(w.Rand, meta)
	}
	return w.typed(object)
}

// mergePatch sets a few fields and removes some.
func (w *write) mergePatch() any {
	patch := map[string]any{}
	alter(w.Rand, patch, w.schema)
	for _, below := range []string{"spec", "status"} {
		if inner, ok := patch[below].(map[string]any); ok && chance(w.Rand, 30) {
			properties, _ := w.schema["properties"].(map[string]any)
			schema, _ := properties[below].(map[string]any)
			fields, _ := schema["properties"].(map[string]any)
			for _, name := range some(w.Rand, 15, slices.Sorted(maps.Keys(fields))) {
				inner[name] = nil
			}
		}
	}
	if chance(w.Rand, 30) {
		meta := map[string]any{}
		alterMeta(w.Rand, meta)
		patch["metadata"] = meta
	}
	if chance(w.Rand, 2) {
		return pick(w.Rand, misfits)
	}
	return patch
}

// jsonPatch returns a few operations on existing values.
func (w *write) jsonPatch() any {
	object := w.newest()
	places := append(pointers(any(object), "", nil), "/spec/color", "/spec/set/-", "/spec/list/0", "/spec/none/below",
		"/metadata/labels/a", "/spec/map/k~1ey", "/status", "")
	// Messages may contain copied values, so these must not differ between servers.
	sources := slices.DeleteFunc(slices.Clone(places), func(pointer string) bool {
		return pointer == "" || strings.HasPrefix(pointer, "/metadata") &&
			!strings.HasPrefix(pointer, "/metadata/labels")
	})
	var patch []any
	for range 1 + w.IntN(3) {
		at := pick(w.Rand, places)
		operation := map[string]any{"op": pick(w.Rand, []string{"add", "replace", "remove", "test", "copy", "move"}),
			"path": at}
		switch operation["op"] {
		case "add", "replace":
			operation["value"] = pick(w.Rand, append(slices.Clone(free), lookUp(object, pick(w.Rand, sources)),
				sample(w.Rand, w.schema)))
		case "test":
			operation["value"] = lookUp(object, at)
			if chance(w.Rand, 20) {
				operation["value"] = "other"
			}
		case "copy", "move":
			operation["from"] = pick(w.Rand, sources)
		}
		patch = append(patch, operation)
	}
	if chance(w.Rand, 3) {
		return pick(w.Rand, misfits)
	}
	return patch
}

// applied returns the configuration of a manager.
func (w *write) applied() map[string]any {
	if chance(w.Rand, 8) {
		return w.typed(map[string]any{"metadata": map[string]any{"name": w.object}})
	}
	object := w.fresh()
	if newest := w.newest(); newest != nil && chance(w.Rand, 30) {
		// Existing fields, to be shared.
		for _, below := range []string{"spec", "status"} {
			if inner, ok := newest[below].(map[string]any); ok {
				for _, name := range slices.Sorted(maps.Keys(inner)) {
					if chance(w.Rand, 50) {
						delete(inner, name)
					}
				}
				object[below] = inner
			}
		}
	}
	if chance(w.Rand, 90) {
		if meta, ok := object["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
	}
	return object
}

// scale reads or writes the scale subresource.
func (w *write) scale(path string) request {
	scale := map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{"name": w.object, "namespace": w.space},
		"spec":     map[string]any{"replicas": pick(w.Rand, numbers)}}
	switch w.IntN(6) {
	case 0:
		return request{method: "GET", path: path}
	case 1, 2:
		if meta, ok := w.newest()["metadata"].(map[string]any); ok && chance(w.Rand, 60) {
			scale["metadata"].(map[string]any)["resourceVersion"] = meta["resourceVersion"]
		}
		if chance(w.Rand, 20) {
			alterMeta(w.Rand, scale["metadata"].(map[string]any))
		}
		return w.send("PUT", path, "application/json", encode(scale))
	case 3:
		return w.send("PATCH", path, mediaTypes["merge"],
			encode(map[string]any{"spec": map[string]any{"replicas": pick(w.Rand,
				append(slices.Clone(numbers), nil, "x"))}}))
	case 4:
		operation := map[string]any{"op": pick(w.Rand, []string{"replace", "add", "test", "remove"}),
			"path":  pick(w.Rand, []string{"/spec/replicas", "/status/replicas", "/metadata/name", "/metadata/labels"}),
			"value": pick(w.Rand, numbers)}
		return w.send("PATCH", path, mediaTypes["json"], encode([]any{operation}))
	default:
		w.query.Set("fieldManager", pick(w.Rand, []string{"alice", "bob", "carol"}))
		if chance(w.Rand, 50) {
			w.query.Set("force", "true")
		}
		if chance(w.Rand, 15) {
			delete(scale, "spec")
		}
		return w.send("PATCH", path, mediaTypes["apply"], encode(scale))
	}
}

// remove deletes the object.
func (w *write) remove(path string) request {
	w.query.Del("fieldManager")
	w.query.Del("fieldValidation")
	options := map[string]any{}
	if chance(w.Rand, 30) {
		options["propagationPolicy"] = pick(w.Rand, []any{"Foreground", "Background", "Orphan", "Other", ""})
	}
	if chance(w.Rand, 20) {
		options["preconditions"] = map[string]any{"resourceVersion": pick(w.Rand,
			append(slices.Clone(w.known.revisions), "1"))}
	}
	if meta, ok := w.newest()["metadata"].(map[string]any); ok && chance(w.Rand, 15) {
		options["preconditions"] = map[string]any{"uid": pick(w.Rand, []any{meta["uid"], meta["uid"], "1"})}
	}
	if chance(w.Rand, 10) {
		options["orphanDependents"] = chance(w.Rand, 50)
	}
	return w.send("DELETE", path, "application/json", encode(options))
}
