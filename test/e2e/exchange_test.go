package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// update rewrites the expected responses. With CRD_SERVER naming a program
// that serves upstream's apiextensions-apiserver in the same way, the
// expectations come from upstream.
var update = flag.Bool("update", false, "write the responses received into the transcripts")

// exchange is one request of a transcript, and the response that is expected.
//
// In the file a line "> " belongs to the request (method and path, headers, an
// empty line, the body) and a line "< " to the response (status and media
// type, the body). Everything else is prose and kept. The request's body is a
// text/template with the function repeat; what differs from run to run stands
// in responses as a placeholder (see placeholders).
type exchange struct {
	prose    []string
	request  []string
	response []string
}

// transcript is a file of exchanges.
type transcript struct {
	file      string
	exchanges []exchange
	tail      []string
}

func readTranscript(t testing.TB, file string) *transcript {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed := &transcript{file: file}
	var current exchange
	flush := func() {
		if len(current.request) > 0 {
			parsed.exchanges = append(parsed.exchanges, current)
			current = exchange{}
		}
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, ">"):
			if len(current.response) > 0 {
				flush()
			}
			current.request = append(current.request, strings.TrimPrefix(line[1:], " "))
		case strings.HasPrefix(line, "<"):
			current.response = append(current.response, strings.TrimPrefix(line[1:], " "))
		default:
			flush()
			current.prose = append(current.prose, line)
		}
	}
	flush()
	parsed.tail = current.prose
	return parsed
}

// write puts the transcript back into its file.
func (tr *transcript) write(t testing.TB) {
	t.Helper()
	var out strings.Builder
	print := func(prefix string, lines []string) {
		for _, line := range lines {
			out.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
		}
	}
	for _, e := range tr.exchanges {
		print("", e.prose)
		print("> ", e.request)
		print("< ", e.response)
	}
	print("", tr.tail)
	if err := os.WriteFile(tr.file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// play sends the request to the server at url and returns the response in the
// transcript's form.
func (e exchange) play(t testing.TB, client *http.Client, url string) []string {
	t.Helper()
	method, path, _ := strings.Cut(e.request[0], " ")
	rest := e.request[1:]
	header := http.Header{}
	for len(rest) > 0 && rest[0] != "" {
		name, value, _ := strings.Cut(rest[0], ":")
		header.Add(name, strings.TrimSpace(value))
		rest = rest[1:]
	}
	var body io.Reader
	if len(rest) > 1 {
		body = strings.NewReader(expand(t, strings.Join(rest[1:], "\n")))
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url+expand(t, path), body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return []string{"no response: " + err.Error()}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return []string{"half a response: " + err.Error()}
	}
	return describe(response, answer)
}

// expand fills in what is too long to write down.
func expand(t testing.TB, text string) string {
	t.Helper()
	parsed, err := template.New("").Funcs(template.FuncMap{"repeat": strings.Repeat}).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// placeholders stand for what differs from run to run.
var placeholders = []struct {
	value *regexp.Regexp
	name  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "{uid}"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "{time}"},
	{regexp.MustCompile(`(resourceVersion[\\"]*: ?[\\"]*)\d+`), "${1}{revision}"},
	{regexp.MustCompile(`(ResourceVersion in record \()\d+`), "${1}{revision}"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-{generated}"},
	{regexp.MustCompile(`Go value of type \[\]\w+\.\w+`), "Go value of type {type}"},
}

// describe brings a response into the transcript's form: JSON indented,
// protobuf as JSON, and with placeholders.
func describe(response *http.Response, body []byte) []string {
	if response.Header.Get("Content-Type") == runtime.ContentTypeProtobuf {
		if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
			body, _ = json.Marshal(object)
		}
	}
	text := strings.TrimSuffix(string(body), "\n")
	var indented bytes.Buffer
	if json.Indent(&indented, body, "", "  ") == nil {
		text = strings.TrimSpace(indented.String())
	}
	for _, p := range placeholders {
		text = p.value.ReplaceAllString(text, p.name)
	}
	lines := []string{strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, response.Header.Get("Content-Type")))}
	for _, warning := range response.Header.Values("Warning") {
		lines = append(lines, "Warning: "+warning)
	}
	if text == "" {
		return lines
	}
	return append(append(lines, ""), strings.Split(text, "\n")...)
}
