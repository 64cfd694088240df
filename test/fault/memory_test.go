package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

const (
	// documentedMemory is the figure of docs/reliability.md: the most memory that requests of users take, with what the
	// server takes without any.
	documentedMemory = 1024 << 20
	// mixClients is the number of clients, of mixUsers users.
	mixClients, mixUsers = 60, 6

	jars           = "/apis/fault.example.com/v1/namespaces/fault/jars"
	jarsDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"jars.fault.example.com"},"spec":{"group":"fault.example.com","scope":"Namespaced",
"names":{"plural":"jars","kind":"Jar"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":
{"type":"object","properties":{"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"texts":{"type":"array","items":{"type":"string"}}}}}}]}}`
)

// jar returns an object with a free field.
func jar(name, free string) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"fault.example.com/v1","kind":"Jar","metadata":{"name":"%s"},"free":{%s}}`, name, free)
}

// TestRequestMemory sends all kinds of requests that take much memory for one request, at the same time and as many
// users, and holds the server to the figure that the documentation states.
func TestRequestMemory(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	server := startServer(t, process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data"),
		Args: []string{everybody, "--request-timeout", "20s"}})
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(jarsDefinition))
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition)) // for the polite user
	c.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("cell-0000", "x", 0))
	for n := range 10 {
		c.must(t, http.StatusCreated, http.MethodPost, jars, asJSON,
			jar(fmt.Sprint("jar-", n), `"text":"`+strings.Repeat("x", 500<<10)+`"`))
	}
	overloadWithin(t, server, task{Kind: "mix", Number: mixClients, Seconds: size(3, 30)}, documentedMemory)
}

// expensive is a request that takes much memory.
type expensive struct {
	method, path, mediaType string
	accept                  string
	body                    []byte
}

// expensiveRequests are large bodies that are dense, flat or not valid, small patches of large objects, and responses
// that are made in memory.
func expensiveRequests() []expensive {
	const dry, large = "?dryRun=All", 3<<20 - 1000
	numbers := `"a":[` + strings.Repeat("1,", large/2-100) + `1]`
	objects := `"a":[` + strings.Repeat("{},", large/3-100) + `{}]`
	var members strings.Builder
	for n := 0; members.Len() < 1<<20; n++ {
		fmt.Fprintf(&members, `"m%d":{},`, n)
	}
	return []expensive{
		{http.MethodPost, jars + dry, asJSON, "", jar("new", `"text":"`+strings.Repeat("x", large-200)+`"`)},
		{http.MethodPost, jars + dry, asJSON, "", jar("new", numbers)},
		{http.MethodPost, jars + dry, asJSON, "", jar("new", objects)},
		{http.MethodPost, jars + dry, asJSON, "", jar("new", objects+`,"not":valid`)},
		{http.MethodPost, jars + dry, asJSON, "", jar("new", `},"texts":[`+strings.Repeat("1,", large/2-100)+`1],"more":{`)},
		{http.MethodPatch, jars + "/jar-0" + dry, asMergePatch, "", []byte(`{"free":{` + members.String() + `"z":1}}`)},
		{http.MethodPatch, jars + "/applied" + dry + "&fieldManager=m", asApply, "",
			jar("applied", members.String()+`"z":1`)},
		{http.MethodPatch, jars + "/jar-1" + dry, asMergePatch, "", []byte(`{"free":{"small":1}}`)},
		{http.MethodGet, jars, "", "application/json;as=Table;v=v1;g=meta.k8s.io", nil},
		{http.MethodGet, jars, "", "application/yaml", nil},
		{http.MethodGet, jars + "/jar-2", "", "application/yaml", nil},
	}
}

// mix sends expensive requests with many clients of several users.
func (l *load) mix(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Seconds)*time.Second)
	defer cancel()
	requests := expensiveRequests()
	var working sync.WaitGroup
	for n := range l.Number {
		user := fmt.Sprint("greedy-", n%mixUsers)
		working.Go(func() {
			for at := n; ctx.Err() == nil; at++ {
				l.sendExpensive(ctx, user, requests[at%len(requests)])
			}
		})
	}
	working.Wait()
	return nil
}

func (l *load) sendExpensive(ctx context.Context, user string, e expensive) {
	resp, err := l.admin.openAs(ctx, user, e.method, e.path, e.mediaType, e.body, "Accept", e.accept)
	if err != nil {
		return // the time is over
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	l.count(resp)
}
