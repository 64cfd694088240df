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

// request is what a step asks for.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	// watched is how long the answer is read that would go on: of watches.
	watched time.Duration
}

// lines are the request as a transcript has it.
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

// side is one of the two servers, as a sequence has come to know it.
type side struct {
	*player
	// space is a namespace, and part of names, that no other sequence uses.
	space string
	// objects are the newest that were answered, by name.
	objects map[string]map[string]any
	// revisions are those of objects that were answered, in that order.
	revisions []string
	// token is the newest continue token.
	token string
}

func newSide(t testing.TB, at *target, space string) *side {
	return &side{player: newPlayer(t, at), space: space, objects: map[string]map[string]any{}}
}

// ask sends a request, and shows the answer as a transcript does.
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
	s.remember(body)
	return append(head, strings.Split(s.answer(response, body), "\n")...)
}

// managersInText are managed fields within a message: their order is one of seconds, too.
var managersInText = regexp.MustCompile(`managedFields(\\*)":\[\{.*?\}\],`)

// tokensInText are continue tokens in YAML.
var tokensInText = regexp.MustCompile(`(?m)^( *continue: ).+$`)

// preconditions are revisions that a step has sent.
var preconditions = regexp.MustCompile(`(ResourceVersion in the precondition \()\d+`)

// answer shows a body, with what is in no order brought into one.
func (s *side) answer(response *http.Response, body []byte) string {
	if isProtobuf(response.Header.Get("Content-Type")) {
		body = fromProtobuf(body)
	}
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

// events shows the frames of a watch but for bookmarks that were not asked for.
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

// remember keeps what later steps are made of.
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

// undeclared ends the look for what does not fit a schema, in no order.
const undeclared = "field not declared in schema"

// toldByChance is where a message begins to tell what does not fit.
var toldByChance = regexp.MustCompile(`(errors:|\.[a-zA-Z]+[^ ]*: ).*$`)

// unorderErrors brings what does not fit a schema into an order, and leaves it out where chance says what is told.
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

// sortManagers orders entries of managedFields, which servers order by seconds.
func (n *node) sortManagers() {
	for i, value := range n.values {
		if n.kind == objectNode && n.keys[i] == "managedFields" {
			slices.SortFunc(value.values, func(a, b *node) int { return strings.Compare(a.line(), b.line()) })
		}
		value.sortManagers()
	}
}
