package e2e

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
	"k8s.io/client-go/rest"
)

// TestDeprecatedVersionIsCounted checks the metric of requests for deprecated versions (R7, A12).
func TestDeprecatedVersionIsCounted(t *testing.T) {
	t.Parallel()
	server := run(t)
	installSamples(t, server)
	client, err := rest.HTTPClientFor(adminConfig(t, server))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, response.StatusCode, err)
		}
		return string(body)
	}
	get("/apis/web.example.com/v1/websites")
	get("/apis/web.example.com/v1beta1/websites")
	metrics := get("/metrics")
	const deprecated = `apiserver_requested_deprecated_apis{group="web.example.com",removed_release="",` +
		`resource="websites",subresource="",version="%s"} 1`
	if !strings.Contains(metrics, strings.Replace(deprecated, "%s", "v1beta1", 1)) {
		t.Error("the deprecated version is not counted")
	}
	if strings.Contains(metrics, strings.Replace(deprecated, "%s", "v1", 1)) {
		t.Error("the version that is not deprecated is counted as if it were")
	}
}

// TestNativeHistograms checks that the protobuf format has histograms that are native too.
func TestNativeHistograms(t *testing.T) {
	t.Parallel()
	server := run(t)
	client, err := rest.HTTPClientFor(adminConfig(t, server))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	families := bufio.NewReader(response.Body)
	for {
		var family dto.MetricFamily
		if err := protodelim.UnmarshalFrom(families, &family); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if family.GetName() != "apiserver_request_duration_seconds" {
			continue
		}
		if h := family.GetMetric()[0].GetHistogram(); h.Schema == nil || len(h.GetBucket()) == 0 {
			t.Errorf("a histogram has the schema %v and %d buckets", h.Schema, len(h.GetBucket()))
		}
		return
	}
	t.Error("there are no durations of requests")
}
