package server

import (
	"bytes"
	"strings"
)

// rule says which log entries of libraries are about a client or a webhook, and no errors of this server.
type rule struct {
	// message begins the message, and cause the error beside it.
	message, cause string
	// contains are texts of which the entry has one; empty if it need not.
	contains []string
	// limited keeps the entry as a warning, once in a while. With a name, that is once for the text between name and the
	// next colon.
	limited bool
	name    string
}

const unhandled = "Unhandled Error"

// connectionEnds are errors of connections whose client has gone, sends what is not HTTP, or is too slow.
var connectionEnds = []string{
	"Handler timeout", "broken pipe", "connection reset by peer", "i/o timeout", "unexpected EOF", "client disconnected",
	"stream closed", "stream error", "use of closed network connection", "context canceled", "invalid Read on closed Body",
	"chunk length", "chunked encoding", "chunked line", "http chunk",
}

// wrongRequests are errors of requests that are wrong, which kube-apiserver answers with 500 too.
var wrongRequests = []string{
	"strconv.NumError", "(*field.Error)", "failed to create typed patch object", "failed to convert new object",
	"resourceVersion should not be set on objects to be created", "unsupported role reference kind",
	"content is not a list", "insufficient quota to match these scopes", "field not declared in schema",
	"failed to create manager for existing fields",
}

// The first rule that matches decides. See docs/upstream.md, "Clients are logged as errors".
var quietRules = []rule{
	// The answer is the place for what is wrong with a request.
	{message: "Couldn't parse request"},
	{message: "Error - invalid timeout specified in the request URL"},
	{message: "Unable to authenticate the request", contains: []string{"verifying certificate", "invalid bearer token"}},
	{message: "Unable to authenticate the request", limited: true},
	{message: "unable to match the audience"},
	{message: unhandled, cause: "exceeded max warning header size"},
	{message: "Failed to make webhook a", contains: []string{"context canceled"}}, // authenticator or authorizer
	{message: "Timeout or abort while handling"},
	{message: "Post-timeout activity", contains: []string{`result=null`, `"result":null`, "net/http: abort Handler"}},
	{message: unhandled, cause: "apiserver was unable to write a", contains: connectionEnds},
	{message: unhandled, cause: "apiserver was unable to close cleanly", contains: connectionEnds},
	{message: unhandled, cause: statusless, contains: []string{conversionFails}, limited: true, name: conversionFails},
	{message: unhandled, cause: statusless, contains: connectionEnds},
	{message: unhandled, cause: statusless, contains: wrongRequests},
	{message: unhandled, cause: "unable to retrieve managedFields for object"},
	{message: "GetWarningsFor"},
	{message: "Failed to watch", contains: []string{"context canceled"}}, // parameters of a policy that was deleted
	{message: "[SHOULD NOT HAPPEN] failed to update managedFields", contains: []string{
		"to smd typed", "field not declared in schema", // as when a CRD changes
	}},

	{message: "rejected by webhook "},
	{message: "Context canceled when calling webhook "},
	{message: webhookFails, contains: []string{"context canceled"}},
	{message: webhookFails, limited: true, name: webhookFails},
	{message: "Failed to set admission audit annotation", limited: true},
	{message: conditionFails, limited: true, name: conditionFails},
	{message: unhandled, cause: policiesFail, contains: []string{paramsMissing}, limited: true, name: paramsMissing},
	{message: unhandled, cause: "no schema for "}, // of a kind that a policy changes, as soon as its CRD exists
	// A second rejection of the same request, or what a warning has said.
	{message: unhandled, cause: "admission webhook "},
	{message: unhandled, cause: "failed calling webhook "},
	{message: unhandled, cause: "Internal error occurred: failed calling webhook "},
}

const (
	statusless      = "apiserver received an error that is not an metav1.Status: "
	conversionFails = "conversion webhook for "
	webhookFails    = "Failed calling webhook, "
	conditionFails  = "Failed evaluating match conditions, "
	policiesFail    = "encountered error syncing policies: "
	paramsMissing   = "failed to find resource referenced by paramKind: "
)

func (r *rule) matches(entry []byte, message, cause string) bool {
	if !strings.HasPrefix(message, r.message) || !strings.HasPrefix(cause, r.cause) {
		return false
	}
	for _, text := range r.contains {
		if bytes.Contains(entry, []byte(text)) {
			return true
		}
	}
	return len(r.contains) == 0
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
