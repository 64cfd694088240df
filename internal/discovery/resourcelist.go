package discovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/wire"
)

const (
	// longList is how many CRDs make a group whose lists are put together of parts. A shorter list is encoded each time.
	longList = 2 * usualShare
	// compressedFrom is the size from which on lists are compressed, as upstream does.
	compressedFrom = 128<<10 + 1
)

// serveResources answers with the resources of a version.
func (d *Discovery) serveResources(w http.ResponseWriter, req *http.Request, g *group, version string) {
	if len(g.records) < longList || !takesJSON(req) {
		write(w, req, crds.Codecs, g.resourceList(version))
		return
	}
	if err := d.documents.parts.sendResources(w, req, g, version); err != nil {
		fail(w, req, err)
	}
}

// takesJSON says that an answer is to be JSON without line breaks, and that nobody but the client wants it.
func takesJSON(req *http.Request) bool {
	_, form, err := negotiation.NegotiateOutputMediaType(req, crds.Codecs, negotiation.DefaultEndpointRestrictions)
	if err != nil || form.MediaType != runtime.ContentTypeJSON || form.Serializer == form.PrettySerializer {
		return false
	}
	log := audit.AuditContextFrom(req.Context())
	return log == nil || log.GetEventLevel().Less(auditinternal.LevelRequestResponse)
}

// sendResources sends what resourceList returns, put together of parts. An error is returned before anything is sent.
func (p *parts) sendResources(w http.ResponseWriter, req *http.Request, g *group, version string) error {
	list, err := json.Marshal(&metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: g.name + "/" + version, APIResources: []metav1.APIResource{},
	})
	if err != nil {
		return fmt.Errorf("encoding the resources of %s: %w", g.name, err)
	}
	const end = "]}"
	begin := string(bytes.TrimSuffix(list, []byte(end)))
	var made []*part
	size := int64(len(list))
	for _, records := range shares(g.shownIn(version)) {
		one, err := p.resources(records, version)
		if err != nil {
			return err
		}
		made = append(made, one)
		size += one.definitions.Length()
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	sendBody(w, req, size >= compressedFrom, func(out body) error {
		separator := begin
		for _, one := range made {
			if err := separated(out, separator, one.definitions); err != nil {
				return err
			}
			separator = ","
		}
		return out.text(end + "\n")
	})
	return nil
}

// resources lists what CRDs have in a version, all of which is served.
func (p *parts) resources(records []*crds.Record, version string) (*part, error) {
	const usualLength = 128
	said := make([]byte, 0, usualLength*len(records))
	for _, record := range records {
		said = append(append(append(append(said, record.Name...), '\n'), shown(record)...), '\n')
	}
	digest := sha256.Sum256(said)
	key := partKey{digest: string(digest[:]), version: version, resources: true}
	return p.kept(key, func() (*part, error) {
		made := &part{}
		var entries []metav1.APIResource
		for _, record := range records {
			made.names = append(made.names, record.Name)
			entries = append(entries, newResource(record, version).legacy()...)
		}
		text, err := json.Marshal(entries)
		if err != nil {
			return nil, fmt.Errorf("encoding resources: %w", err)
		}
		made.definitions = wire.DeflateWell(text[1 : len(text)-1])
		return made, nil
	})
}
