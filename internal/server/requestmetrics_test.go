package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
)

// TestMetricsOfDurations issues certificates that are valid for a year, for requests of a year and of an hour. The
// counters are those of the process, so the signer is the test's own.
func TestMetricsOfDurations(t *testing.T) {
	t.Parallel()
	p := startWhole(t, everything).root()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := cert.MakeCSR(key, &pkix.Name{CommonName: "a"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	issued, _, err := cert.GenerateSelfSignedCertKey("a", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	const signer = "kubernetes.io/test-of-durations"
	counted := func() (requested, honored float64) {
		const name = "apiserver_certificates_registry_csr_%s_duration_total{signerName=%q}"
		metrics := p.must(http.StatusOK, http.MethodGet, "/metrics", "").body
		requested, _ = series(metrics, fmt.Sprintf(name, "requested", signer)) // missing before the first
		honored, _ = series(metrics, fmt.Sprintf(name, "honored", signer))
		return requested, honored
	}
	requestedBefore, honoredBefore := counted()
	for name, seconds := range map[string]int32{"year": 365 * 24 * 3600, "hour": 3600} {
		request := certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: asked, SignerName: signer, ExpirationSeconds: &seconds,
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			},
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		p.must(http.StatusCreated, http.MethodPost, path, string(body))
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"certificate": issued}})
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"?dryRun=All", "", ""} {
			p.must(http.StatusOK, http.MethodPatch, path+"/"+name+"/status"+query, string(patch),
				"Content-Type", "application/merge-patch+json")
		}
	}
	requested, honored := counted()
	requested, honored = requested-requestedBefore, honored-honoredBefore
	if requested != 2 || honored != 1 {
		t.Errorf("%g durations requested, %g honored", requested, honored)
	}
}
