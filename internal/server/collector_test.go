package server

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestGarbageCollection checks that a standing-alone server collects dependents among built-in and custom resources.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	p := s.root().withTables()
	var uid string
	read := func(answer answer) {
		_, rest, _ := strings.Cut(answer.body, `"uid":"`)
		uid, _, _ = strings.Cut(rest, `"`)
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	read(p.must(http.StatusCreated, http.MethodPost, maps, `{"metadata":{"name":"owner"}}`))
	owned := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q,`+
		`"blockOwnerDeletion":true}]`, uid)
	p.must(http.StatusCreated, http.MethodPost, tablesPath,
		strings.Replace(table("owned", 4), `"name":"owned"`, `"name":"owned",`+owned, 1))
	p.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"owned",`+owned+
		`}}`)
	deleted := p.awaitDeletion(maps + "?watch=true&fieldSelector=metadata.name%3Downer")
	p.must(http.StatusOK, http.MethodDelete, maps+"/owner",
		`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`)
	deleted()
	p.must(http.StatusNotFound, http.MethodGet, tablesPath+"/owned", "")
	p.must(http.StatusNotFound, http.MethodGet, "/api/v1/namespaces/default/secrets/owned", "")
}

// awaitDeletion starts a watch. The returned function waits for a deletion.
func (p *person) awaitDeletion(path string) func() {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	return func() {
		p.t.Helper()
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), `"type":"DELETED"`) {
				return
			}
		}
		p.t.Fatal("the watch ended without a deletion")
	}
}

func TestGarbageCollectionDefault(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"": true, "--builtin-resources=none": false, "--enable-garbage-collector=false": false,
		"--builtin-resources=none --enable-garbage-collector": true,
	} {
		o := NewOptions()
		if err := o.Parse(strings.Fields(args)); err != nil || o.garbageCollection() != want {
			t.Errorf("%q: %v, %v", args, o.garbageCollection(), err)
		}
	}
}

// TestOwnerInAnotherNamespace checks that a dependent of an owner in another namespace is deleted and reported.
func TestOwnerInAnotherNamespace(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	p := s.root()
	const maps = "/api/v1/namespaces/default/configmaps"
	_, rest, _ := strings.Cut(p.must(http.StatusCreated, http.MethodPost, maps, `{"metadata":{"name":"owner"}}`).body,
		`"uid":"`)
	uid, _, _ := strings.Cut(rest, `"`)
	deleted := p.awaitDeletion("/api/v1/namespaces/kube-public/configmaps?watch=true&fieldSelector=metadata.name%3Downed")
	p.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces/kube-public/configmaps", fmt.Sprintf(
		`{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`,
		uid))
	deleted()
	got := p.must(http.StatusOK, http.MethodGet, "/api/v1/namespaces/kube-public/events", "").body
	want := fmt.Sprintf(`ownerRef [v1/ConfigMap, namespace: kube-public, name: owner, uid: %s] does not exist in `+
		`namespace \"kube-public\"`, uid)
	if !strings.Contains(got, want) || !strings.Contains(got, `"reason":"OwnerRefInvalidNamespace"`) {
		t.Errorf("%s", got)
	}
	p.must(http.StatusOK, http.MethodGet, maps+"/owner", "")
}
