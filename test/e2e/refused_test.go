package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRefused sends what must be refused, and compares whole responses with
// those of upstream's server. Each transcript has a server of its own, which
// must be alive and of the same mind at the end.
func TestRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			server := run(t)
			client, err := rest.HTTPClientFor(adminConfig(t, server))
			if err != nil {
				t.Fatal(err)
			}
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			installSamples(t, server)

			script := readTranscript(t, file)
			for i, e := range script.exchanges {
				got := e.play(t, client, server.URL)
				if !*update && !slices.Equal(trimmed(got), trimmed(e.response)) {
					t.Errorf("%s\n--- got\n%s\n--- want\n%s", e.request[0], strings.Join(got, "\n"), strings.Join(e.response, "\n"))
				}
				script.exchanges[i].response = got
			}
			if *update {
				script.write(t)
			}
			livesOn(t, server)
		})
	}
}

// trimmed drops the spaces at line ends, which the files do not keep.
func trimmed(lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}
