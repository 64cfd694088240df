package server

import (
	"bytes"
	_ "embed" // quietrules.yaml
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed quietrules.yaml
var encodedRules []byte

// readRules returns the rules of quietLog.
func readRules() (rules []rule) {
	utilruntime.Must(yaml.UnmarshalStrict(encodedRules, &rules))
	return rules
}

// rule says which log entries of libraries are about a client or a webhook, and no errors of this server. See
// docs/upstream.md, "Clients are logged as errors".
type rule struct {
	// Message begins the message, and Cause the error beside it.
	Message, Cause string
	// Contains are texts of which the entry has one; empty if it need not.
	Contains []string
	// Limited keeps the entry as a warning, once in a while. With a name, that is once for the text between name and the
	// next colon.
	Limited bool
	Name    string
}

func (r *rule) matches(entry []byte, message, cause string) bool {
	if !strings.HasPrefix(message, r.Message) || !strings.HasPrefix(cause, r.Cause) {
		return false
	}
	for _, text := range r.Contains {
		if bytes.Contains(entry, []byte(text)) {
			return true
		}
	}
	return len(r.Contains) == 0
}

// described returns the message of an entry, and how the error beside it begins, still quoted as in the entry. Quotes
// in values are escaped, so nothing that a client has sent can take their place.
func described(entry []byte) (message, cause string) {
	text := string(entry)
	if after, isJSON := strings.CutPrefix(text, "{"); isJSON {
		_, message, _ = strings.Cut(after, `"msg":"`)
		_, cause, _ = strings.Cut(message, `"err":"`)
		return message, cause
	}
	_, text, _ = strings.Cut(text, "] ")
	message, structured := strings.CutPrefix(text, `"`)
	if structured {
		_, cause, _ = strings.Cut(message, `" err=`)
		if lines, several := strings.CutPrefix(cause, "<\n\t"); several {
			return message, lines
		}
		cause = strings.TrimPrefix(cause, `"`)
	}
	return message, cause
}
