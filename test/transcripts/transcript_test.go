package transcripts

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// transcript is a file of exchanges.
//
// A line "> " belongs to a request: method and path, headers, an empty line,
// the body. A line "< " belongs to the response: status and media type, other
// headers, an empty line, the body. Everything else is prose, and kept; prose
// lines that begin with @ are directives to the exchange that follows:
//
//	@until TEXT      repeat the request until the response holds TEXT (for later effects of a request)
//	@item NAME       of a list, show only the item, or API group, of that name
//	@resources NAMES of a discovery document, show only the resources of those names
//	@unordered       show the causes of a Status sorted, and not in its message: their order is random
//	@unvalued        show no object as an invalid value, and texts to the end of their first line: kube-apiserver prints
//	                 its internal types
//	@raw             show the body byte by byte, not laid out
//	@bodiless        show no body, of documents that have tests of their own
//	@headers         show all headers but length and date, also those on every response
//	@anonymous       send no credential
//	@audit           show the annotations that admission adds to the audit event
//	@protobuf        send the YAML body as protobuf
//	@ours REASON     not sent to upstream, which cannot answer it
//	@differs REASON  the response of upstream differs, and this is intended
//
// Six requests are not HTTP methods. "CRD" creates the definition in the body
// and waits until it is served; it has no response. "SAMPLES" does that for the
// CRDs in config/samples and creates their objects. "WATCH name path" opens a
// watch that stays open, "FRAMES name n" shows the next n frames of it, and
// "FRAMES name end" all frames until the server ends it, "FRAMES name bookmark"
// those until a bookmark. "WEBHOOK name" sets what the admission webhook at {webhooks}/name responds (webhook_test.go),
// "CALLS" shows the reviews that webhooks were sent since the last CALLS, "CALLS name" only those to one of them.
//
// Values that differ from run to run are replaced by placeholders: see symbols. A numbered
// placeholder can be used in later requests, such as {rv1} or {uid2}. Requests are also
// templates with the function repeat, for long texts.
type transcript struct {
	name      string
	exchanges []exchange
	tail      []string
}

// exchange is one request of a transcript, and the response that is expected.
type exchange struct {
	prose    []string
	request  []string
	response []string
}

// requestLine begins a request, also right after one without a response.
var requestLine = regexp.MustCompile(`^(CRD$|SAMPLES$|CALLS\b|WEBHOOK |WATCH \w+ /|FRAMES \w+ |[A-Z]+ /)`)

func readTranscript(t testing.TB, name string) *transcript {
	t.Helper()
	content, err := os.ReadFile(fileOf(name))
	if err != nil {
		t.Fatal(err)
	}
	parsed := &transcript{name: name}
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
			line = strings.TrimPrefix(line[1:], " ")
			if len(current.response) > 0 || requestLine.MatchString(line) {
				flush()
			}
			current.request = append(current.request, line)
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

// builtin says that the transcript is on built-in resources.
func (tr *transcript) builtin() bool {
	folder, _, _ := strings.Cut(tr.name, "/")
	return slices.Contains([]string{"builtin", "admission", "all", "defaults", "quotas", "accounts"}, folder)
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
	if err := os.WriteFile(fileOf(tr.name), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func fileOf(name string) string { return "testdata/" + name + ".txt" }

// directive returns what follows the directive in the exchange's prose.
func (e exchange) directive(name string) (argument string, found bool) {
	for _, line := range e.prose {
		if word, rest, _ := strings.Cut(line, " "); word == "@"+name {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

func (e exchange) has(directive string) bool {
	_, found := e.directive(directive)
	return found
}

// expected returns the response that the transcript should hold when our server has responded with got. Only responses
// of ours are updated without upstream's server; the others claim to be upstream's.
func (e exchange) expected(got []string, update bool) []string {
	if update && (e.has("ours") || e.has("differs")) {
		return got
	}
	return e.response
}

// title names the exchange in the output of a test.
func (e exchange) title() string {
	for _, line := range e.prose {
		if line != "" && !strings.HasPrefix(line, "@") && !strings.HasPrefix(line, "#") {
			return fmt.Sprintf("%s (%s)", e.request[0], line)
		}
	}
	return e.request[0]
}

// text joins lines as they are compared: the files keep no spaces at line ends.
func text(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
