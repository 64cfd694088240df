package certificates

import (
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The metrics of certificates for which a client has asked for a duration, by their signers. Their names are
// kube-apiserver's.
var (
	requestedDurations = newDurationCounter(&metrics.CounterOpts{
		Name: "csr_requested_duration_total",
		Help: "Total number of issued CSRs with a requested duration, sliced by signer " +
			"(only kubernetes.io signer names are specifically identified)",
	})
	honoredDurations = newDurationCounter(&metrics.CounterOpts{
		Name: "csr_honored_duration_total",
		Help: "Total number of issued CSRs with a requested duration that was honored, sliced by signer " +
			"(only kubernetes.io signer names are specifically identified)",
	})
	// registerDurations is called before the first certificate is counted: most servers never see one.
	registerDurations = sync.OnceFunc(func() { legacyregistry.MustRegister(requestedDurations, honoredDurations) })
)

func newDurationCounter(options *metrics.CounterOpts) *metrics.CounterVec {
	options.Namespace, options.Subsystem = "apiserver", "certificates_registry"
	options.StabilityLevel = metrics.ALPHA
	return metrics.NewCounterVec(options, []string{"signerName"})
}

// countIssued counts the certificate that an update has added to a request with a duration.
func countIssued(obj, old runtime.Object) {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	issued, seconds := csr.Status.Certificate, before.Spec.ExpirationSeconds
	if len(before.Status.Certificate) > 0 || len(issued) == 0 || seconds == nil {
		return
	}
	signer := before.Spec.SignerName
	if !strings.HasPrefix(signer, "kubernetes.io/") {
		signer = "other"
	}
	registerDurations()
	requestedDurations.WithLabelValues(signer).Inc()
	if honored(issued, time.Duration(*seconds)*time.Second) {
		honoredDurations.WithLabelValues(signer).Inc()
	}
}

// honored reports whether the first certificate is valid for about as long as was asked for. The start of a certificate
// is usually five minutes ago.
func honored(issued []byte, asked time.Duration) bool {
	parsed, err := cert.ParseCertsPEM(issued)
	if err != nil {
		return false // the validation of the status has parsed it
	}
	valid := parsed[0].NotAfter.Sub(parsed[0].NotBefore)
	return (asked - valid).Abs() < 5*time.Minute+asked/20
}
