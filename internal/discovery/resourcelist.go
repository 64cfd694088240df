package discovery

import (
	"bytes"
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
	// longList is how many CRDs make a group whose lists are put together of shares. A shorter list is encoded each time.
	longList = 2 * usualShare
	// compressedFrom is the size from which on lists are compressed, as upstream does.
	compressedFrom = 128<<10 + 1
)

// serveResources answers with the resources of a version.
func (d *Discovery) serveResources(w http.ResponseWriter, req *http.Request, g *group, version string) {
	if g.size < longList || !takesJSON(req) {
		write(w, req, crds.Codecs, g.resourceList(version))
		return
	}
	if err := g.sendResources(w, req, version); err != nil {
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

// sendResources sends what resourceList returns, put together of shares. An error is returned before anything is sent.
func (g *group) sendResources(w http.ResponseWriter, req *http.Request, version string) error {
	list, err := json.Marshal(&metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: g.name + "/" + version, APIResources: []metav1.APIResource{},
	})
	if err != nil {
		return fmt.Errorf("encoding the resources of %s: %w", g.name, err)
	}
	const end = "]}"
	begin := string(bytes.TrimSuffix(list, []byte(end)))
	made := make([]wire.Deflated, 0, len(g.shares))
	size := int64(len(list))
	for _, s := range g.shares {
		one, err := s.list(version)
		if err != nil {
			return err
		}
		if one.Length() > 0 {
			made = append(made, one)
			size += one.Length()
		}
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	sendBody(w, req, size >= compressedFrom, func(out body) error {
		separator := begin
		for _, one := range made {
			if err := separated(out, separator, one); err != nil {
				return err
			}
			separator = ","
		}
		return out.text(end + "\n")
	})
	return nil
}
