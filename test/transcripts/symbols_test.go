package transcripts

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
)

// symbols replaces values that differ from run to run by names. A value keeps
// its name within a transcript, so that a reader sees which values are equal:
//
//	{uid1}       a UID
//	{rv1}        the resourceVersion of an object
//	{list1}      the resourceVersion of a list or bookmark: others write beside us, so each has a
//	             name of its own, but for the pages of one list
//	{continue1}  a continue token, which holds such a resourceVersion
//	{time} {age} {generated} {revision} {type}  a time close to now, an age in a table, a random suffix,
//	             some revision, a type of the server's source
//	{hash} {date} {address} a hash of a document, a date in a header, where the server listens
//	{token}      a signed token of a service account
//	{webhooks} {authority}  the URL of the transcript's webhooks, and the certificate for their caBundle
type symbols struct {
	names  map[string]string // kind and value -> name
	values map[string]string // name -> value
	counts map[string]int    // kind -> names given
	fixed  map[string]string // name -> value, for the whole transcript
}

func newSymbols() *symbols {
	return &symbols{names: map[string]string{}, values: map[string]string{}, counts: map[string]int{},
		fixed: map[string]string{}}
}

// fix names a value for the whole transcript.
func (s *symbols) fix(name, value string) { s.fixed[name] = value }

// name returns the value's name, a new one when it has none yet.
func (s *symbols) name(kind, value string) string {
	if name, ok := s.names[kind+value]; ok {
		return name
	}
	return s.fresh(kind, value)
}

// fresh gives the value a new name in any case.
func (s *symbols) fresh(kind, value string) string {
	s.counts[kind]++
	name := fmt.Sprintf("{%s%d}", kind, s.counts[kind])
	s.names[kind+value], s.values[name] = name, value
	return name
}

var numbered = regexp.MustCompile(`\{(uid|rv|list|continue)\d+\}`)

// expand puts the values of this run into a request.
func (s *symbols) expand(text string) string {
	for name, value := range s.fixed {
		text = strings.ReplaceAll(text, name, value)
	}
	return numbered.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := s.values[name]; ok {
			return value
		}
		return name
	})
}

var (
	uids      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tokens    = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ages      = regexp.MustCompile(`^((\d+m)?\d+s|\d+y(\d+d)?)$`) // of the past seconds, or of a fixed time years ago
	generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	// generatedInText is a generated name in a message.
	generatedInText = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}"`)
	agesInYAML      = regexp.MustCompile(`(?m)^( *- )\d+s$`)
	hashes          = regexp.MustCompile(`\b[0-9A-F]{64}([0-9A-F]{64})?\b`)
	dates           = regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`)
	addresses       = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	goTypes         = regexp.MustCompile(`Go value of type \[\]\w+\.\w+`)
	revisions       = []*regexp.Regexp{
		regexp.MustCompile(`()(, current: )\d+`),
		regexp.MustCompile(`(too old resource version: )(\d+ \()\d+`),
		regexp.MustCompile(`()(resourceVersion\\*"?: ?\\*")\d+`),
		regexp.MustCompile(`()(ResourceVersion\s+in\s+(?:record\s+\(|object\s+meta:\s+))\d+`),
	}
)

// closeToNow bounds the difference from now of times that are replaced.
const closeToNow = time.Hour

// inText replaces values that may occur anywhere in a text.
func (s *symbols) inText(text string) string {
	for name, value := range s.fixed {
		text = strings.ReplaceAll(text, value, name)
	}
	text = tokens.ReplaceAllString(text, "{token}")
	text = uids.ReplaceAllStringFunc(text, func(uid string) string {
		return s.name("uid", uid)
	})
	text = times.ReplaceAllStringFunc(text, func(at string) string {
		if parsed, err := time.Parse(time.RFC3339Nano, at); err != nil || time.Since(parsed).Abs() > closeToNow {
			return at
		}
		return "{time}"
	})
	text = generatedInText.ReplaceAllString(text, `-{generated}"`)
	text = hashes.ReplaceAllString(text, "{hash}")
	text = dates.ReplaceAllString(text, "{date}")
	text = addresses.ReplaceAllString(text, "{address}")
	text = goTypes.ReplaceAllString(text, "Go value of type {type}")
	text = agesInYAML.ReplaceAllString(text, "$1{age}")
	for _, revision := range revisions {
		text = revision.ReplaceAllString(text, "${1}${2}{revision}")
	}
	return text
}

// inKey replaces UIDs in a name of a field: managed fields name owners by them.
func (s *symbols) inKey(key string) string {
	return uids.ReplaceAllStringFunc(key, func(uid string) string { return s.name("uid", uid) })
}

// inJSON replaces values by their place in a document.
func (s *symbols) inJSON(root *node, pageOfList bool) {
	root.walk(nil, func(path []string, n *node) {
		if n.kind != stringNode {
			return
		}
		value := n.text()
		switch last, parent := path[len(path)-1], strings.Join(path[:len(path)-1], "."); {
		case value == "":
		case last == "resourceVersion" && parent == "metadata" && root.isList():
			if name, ok := s.names["list"+value]; ok && pageOfList {
				n.setText(name)
			} else {
				n.setText(s.fresh("list", value))
			}
		case last == "resourceVersion" && root.isBookmark():
			n.setText(s.fresh("list", value))
		case last == "resourceVersion":
			n.setText(s.name("rv", value))
		case last == "continue" && parent == "metadata":
			n.setText(s.fresh("continue", value))
		case strings.HasSuffix(last, "name") && generated.MatchString(value):
			n.setText(generated.ReplaceAllString(value, "-{generated}"))
		case len(path) > 2 && path[len(path)-2] == "cells" && ages.MatchString(value):
			n.setText("{age}")
		default:
			n.setText(s.inText(value))
		}
	})
	root.rename(s.inKey)
}

// clone returns a copy, for a response that may not be shown.
func (s *symbols) clone() *symbols {
	return &symbols{names: maps.Clone(s.names), values: maps.Clone(s.values), counts: maps.Clone(s.counts), fixed: s.fixed}
}
