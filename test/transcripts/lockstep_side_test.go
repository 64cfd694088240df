package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// request is the request of a step.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	// watched is how long a watch is read.
	watched time.Duration
}

// lines returns the request in the format of a transcript.
func (r request) lines() []string {
	lines := []string{r.method + " " + r.path}
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		lines = append(lines, name+": "+r.header[name])
	}
	if r.body != nil {
		lines = append(lines, "", string(r.body))
	}
	return lines
}

// side is one of the two servers, with what a sequence has learned about it.
type side struct {
	*player
	// space is a namespace, and a part of names, of this sequence only.
	space string
	// sequence is the number of the sequence.
	sequence uint64
	// objects are the last versions in responses, by name.
	objects map[string]map[string]any
	// revisions are those of objects in responses, in order.
	revisions []string
	// token is the newest continue token.
	token string
}

func newSide(t testing.TB, at *target, space string) *side {
	return &side{player: newPlayer(t, at), space: space, objects: map[string]map[string]any{}}
}

// ask sends a request and shows the response as a transcript does.
func (s *side) ask(r request) []string {
	ctx, cancel := context.WithTimeout(s.t.Context(), answerTimeout)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, r.method, s.target.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return []string{"no request: " + err.Error()}
	}
	asked.Header.Set("User-Agent", "lockstep/v1")
	for name, value := range r.header {
		asked.Header.Set(name, value)
	}
	response, err := s.target.client.Do(asked)
	if err != nil {
		return []string{"no response: " + err.Error()}
	}
	defer response.Body.Close()
	head := s.head(response, exchange{})
	watches := r.watched > 0 && response.StatusCode == http.StatusOK
	if watches {
		defer time.AfterFunc(r.watched, cancel).Stop()
	}
	body, err := io.ReadAll(response.Body)
	if watches {
		return append(head, s.events(body, err != nil)...)
	}
	if err != nil {
		return append(head, "half a response: "+err.Error())
	}
	if isProtobuf(response.Header.Get("Content-Type")) {
		body = fromProtobuf(body)
	}
	s.remember(body)
	return append(head, strings.Split(s.answer(body), "\n")...)
}

// managersInText matches managed fields in a message. Their order depends on the second.
var managersInText = regexp.MustCompile(`managedFields(\\*)":\[\{.*?\}\],`)

// tokensInText matches continue tokens in YAML.
var tokensInText = regexp.MustCompile(`(?m)^( *continue: ).+$`)

// preconditions matches revisions that a step has sent.
var preconditions = regexp.MustCompile(`(ResourceVersion in (?:the )?precondition(?:: | \())\d+`)

// answer shows a body, with everything sorted that has no order.
func (s *side) answer(body []byte) string {
	root, err := parseJSON(body)
	if err != nil {
		return strings.TrimSuffix(tokensInText.ReplaceAllString(s.symbols.inText(string(body)), "$1{continue}"), "\n")
	}
	root.unorder()
	root.field("message").unorderErrors()
	s.symbols.inJSON(root, false)
	root.sortManagers()
	shown := managersInText.ReplaceAllString(root.layout("", ""), "managedFields{...}")
	return preconditions.ReplaceAllString(shown, "$1{revision}")
}

// events shows the frames of a watch, except bookmarks that were not requested.
func (s *side) events(body []byte, cut bool) []string {
	var lines []string
	decoder := json.NewDecoder(bytes.NewReader(body))
	for {
		var frame json.RawMessage
		if err := decoder.Decode(&frame); err != nil {
			break
		}
		before := s.symbols.clone()
		shown, bookmark := s.frame(&watch{}, frame)
		if bookmark {
			s.symbols = before
		} else {
			lines = append(lines, strings.Split(shown, "\n")...)
		}
	}
	return append(lines, fmt.Sprintf("goes on: %v", cut))
}

// remember keeps what later steps use.
func (s *side) remember(body []byte) {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return
	}
	if details, ok := object["details"].(map[string]any); ok && object["status"] == "Success" {
		delete(s.objects, fmt.Sprint(details["name"]))
	}
	meta, _ := object["metadata"].(map[string]any)
	if token, ok := meta["continue"].(string); ok {
		s.token = token
	}
	version, _ := meta["resourceVersion"].(string)
	name, _ := meta["name"].(string)
	if version == "" || name == "" {
		return
	}
	if !slices.Contains(s.revisions, version) {
		s.revisions = append(s.revisions, version)
	}
	if _, full := meta["uid"]; full && object["kind"] != "Scale" && object["kind"] != "PartialObjectMetadata" {
		s.objects[name] = object
	}
}

// undeclared ends the search for fields that do not fit a schema, in random order.
const undeclared = "field not declared in schema"

// toldByChance matches the part of a message that names such a field.
var toldByChance = regexp.MustCompile(`(errors:|\.[a-zA-Z]+[^ ]*: ).*$`)

// unorderErrors sorts errors in a message, and removes those that are chosen at random.
func (n *node) unorderErrors() {
	if n == nil {
		return
	}
	const begin, next = `errors:\n`, `\n`
	if strings.Contains(n.raw, undeclared) {
		n.raw = toldByChance.ReplaceAllString(n.raw, undeclared+`"`)
	}
	if before, after, several := strings.Cut(n.raw, begin); several {
		lines := strings.Split(strings.TrimSuffix(after, `"`), next)
		slices.Sort(lines)
		n.raw = before + begin + strings.Join(lines, next) + `"`
	}
}

// writtenAt is the time of an entry of managedFields.
var writtenAt = regexp.MustCompile(`"time": ?"[^"]*"`)

// sortManagers sorts the entries of managedFields, which servers sort by second. Their times do not count.
func (n *node) sortManagers() {
	for i, value := range n.values {
		if n.kind == objectNode && n.keys[i] == "managedFields" {
			timeless := func(n *node) string { return writtenAt.ReplaceAllString(n.line(), "") }
			slices.SortFunc(value.values, func(a, b *node) int { return strings.Compare(timeless(a), timeless(b)) })
		}
		value.sortManagers()
	}
}
