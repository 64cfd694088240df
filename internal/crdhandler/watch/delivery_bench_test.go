package watch

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// discarded is a ResponseWriter that keeps nothing.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) Flush()                      {}

// BenchmarkDelivery delivers an event of 2 KB to 200 watches of one format. An operation is a delivery to one of them.
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
	sessions := make([]*session, watches)
	for n := range sessions {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Accept", accept)
		w := discarded{header: http.Header{}}
		sessions[n] = newSession(b, nil, req, &metainternal.ListOptions{})
		sessions[n].stream = newBodyStream(w, w, req, sessions[n])
	}
	value := gadget("a", 2<<10)
	before := &dynamicstorage.Entry{Key: "ns/a", Revision: 1, Value: value}
	var events []dynamicstorage.Event
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%watches == 0 {
			entry := &dynamicstorage.Entry{Key: "ns/a", Revision: before.Revision + 1, Value: value}
			events = []dynamicstorage.Event{{Revision: entry.Revision, Entry: entry, Prev: before}}
			before = entry
			if _, err := viewer.View(b.Context(), entry); err != nil { // a writer attaches the view
				b.Fatal(err)
			}
		}
		session := sessions[n%watches]
		if err := session.sendEvents(b.Context(), events); err != nil {
			b.Fatal(err)
		}
		if err := session.flush(); err != nil {
			b.Fatal(err)
		}
	}
}
