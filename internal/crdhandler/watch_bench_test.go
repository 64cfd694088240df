package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// discarded is a ResponseWriter of which nothing is kept.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) Flush()                      {}

// BenchmarkDelivery has one event of 2 KB go to 200 watches of one format. An operation is one event delivered to one of them.
func BenchmarkDelivery(b *testing.B) {
	for name, accept := range map[string]string{
		"JSON":     "application/json",
		"metadata": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"table":    "application/json;as=Table;v=v1;g=meta.k8s.io",
	} {
		b.Run(name, func(b *testing.B) { benchmarkDelivery(b, accept) })
	}
}

func benchmarkDelivery(b *testing.B, accept string) {
	const watches = 200
	r := newReading(b)
	sessions := make([]*watchSession, watches)
	for n := range sessions {
		sessions[n] = r.discarding(accept)
	}
	value := []byte(largeGadget("a", 2<<10))
	before := &dynamicstorage.Entry{Key: "ns/a", Revision: 1, Value: value}
	var events []dynamicstorage.Event
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%watches == 0 {
			entry := &dynamicstorage.Entry{Key: "ns/a", Revision: before.Revision + 1, Value: value}
			events = []dynamicstorage.Event{{Revision: entry.Revision, Entry: entry, Prev: before}}
			before = entry
			if _, err := r.scope.view(b.Context(), entry); err != nil { // a writer attaches it
				b.Fatal(err)
			}
		}
		session := sessions[n%watches]
		if err := session.sendChanges(b.Context(), events); err != nil {
			b.Fatal(err)
		}
		if err := session.flush(); err != nil {
			b.Fatal(err)
		}
	}
}

// discarding returns a session that is open and sends to nobody.
func (r *reading) discarding(accept string) *watchSession {
	r.t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept", accept)
	mediaType, err := r.scope.negotiate(req)
	if err != nil {
		r.t.Fatal(err)
	}
	encoder, err := r.scope.newEventEncoder(req, mediaType)
	if err != nil {
		r.t.Fatal(fmt.Errorf("%s: %w", accept, err))
	}
	opts := &metainternal.ListOptions{}
	session := &watchSession{scope: r.scope, selection: r.scope.selection("", opts), view: r.scope.view, views: r.scope.views, encoder: encoder}
	session.measure(req.Context(), opts)
	w := discarded{header: http.Header{}}
	session.out = newBodyStream(w, w, req, session)
	return session
}
