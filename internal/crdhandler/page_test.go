package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestPageQuery(t *testing.T) {
	token := continueToken{Revision: 7, Start: "b\x00"}.encode()
	latest := continueToken{Revision: latestRevision, Start: "b\x00"}.encode()
	consistent := dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	exact := dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: 7}
	notOlder := dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: 7}
	for name, tc := range map[string]struct {
		opts  metainternal.ListOptions
		at    dynamicstorage.ReadAt
		limit int64
		start string
		err   string
	}{
		"unset":                  {at: consistent},
		"unset, limit":           {opts: metainternal.ListOptions{Limit: 5}, at: consistent, limit: 5},
		"any, limit":             {opts: metainternal.ListOptions{ResourceVersion: "0", Limit: 5}, at: dynamicstorage.ReadAt{Mode: dynamicstorage.Any}},
		"not older":              {opts: metainternal.ListOptions{ResourceVersion: "7"}, at: notOlder},
		"not older, limit":       {opts: metainternal.ListOptions{ResourceVersion: "7", Limit: 2, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, at: notOlder, limit: 2},
		"legacy exact":           {opts: metainternal.ListOptions{ResourceVersion: "7", Limit: 2}, at: exact, limit: 2},
		"exact":                  {opts: metainternal.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, at: exact},
		"continued":              {opts: metainternal.ListOptions{Continue: token, Limit: 2}, at: exact, limit: 2, start: "ns/b\x00"},
		"continued, latest":      {opts: metainternal.ListOptions{Continue: latest}, at: consistent, start: "ns/b\x00"},
		"continued with version": {opts: metainternal.ListOptions{Continue: token, ResourceVersion: "7"}, err: "specifying resource version is not allowed when using continue"},
		"bad token":              {opts: metainternal.ListOptions{Continue: "x"}, err: "invalid continue token: continue key is not valid"},
		"bad version":            {opts: metainternal.ListOptions{ResourceVersion: "x"}, err: `invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := (&requestScope{namespaced: true}).newPageQuery("ns", &tc.opts)
			if tc.err != "" {
				if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), tc.err) {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if q.at != tc.at || q.limit != tc.limit || q.start != tc.start {
				t.Errorf("at %v, limit %d, start %q", q.at, q.limit, q.start)
			}
		})
	}
}

func TestSelection(t *testing.T) {
	field := func(s string) *metainternal.ListOptions {
		return &metainternal.ListOptions{FieldSelector: fields.ParseSelectorOrDie(s)}
	}
	for name, tc := range map[string]struct {
		cluster     bool
		namespace   string
		opts        *metainternal.ListOptions
		prefix, key string
	}{
		"all":                  {opts: &metainternal.ListOptions{}},
		"namespace":            {namespace: "ns", opts: &metainternal.ListOptions{}, prefix: "ns/"},
		"one":                  {namespace: "ns", opts: field("metadata.name=a"), prefix: "ns/", key: "ns/a"},
		"one, any namespace":   {opts: field("metadata.name=a")},
		"namespace selected":   {opts: field("metadata.namespace=ns"), prefix: "ns/"},
		"one selected":         {opts: field("metadata.namespace=ns,metadata.name=a"), prefix: "ns/", key: "ns/a"},
		"bad namespace":        {opts: field("metadata.namespace=n/s")},
		"bad name":             {namespace: "ns", opts: field("metadata.name=a/b"), prefix: "ns/"},
		"not a name":           {namespace: "ns", opts: field("metadata.name!=a"), prefix: "ns/"},
		"cluster":              {cluster: true, opts: &metainternal.ListOptions{}},
		"cluster, one":         {cluster: true, opts: field("metadata.name=a"), key: "a"},
		"cluster, namespace":   {cluster: true, opts: field("metadata.namespace=ns")},
		"continued, not again": {opts: &metainternal.ListOptions{Continue: "x", FieldSelector: fields.ParseSelectorOrDie("metadata.namespace=ns,metadata.name=a")}},
	} {
		t.Run(name, func(t *testing.T) {
			sel := (&requestScope{namespaced: !tc.cluster}).selection(tc.namespace, tc.opts)
			if sel.prefix != tc.prefix || sel.key != tc.key {
				t.Errorf("prefix %q, key %q", sel.prefix, sel.key)
			}
		})
	}
}

func TestSelectionMatches(t *testing.T) {
	view := &dynamicstorage.View{
		Labels: dynamicstorage.PairsOf(map[string]string{"a": "b"}), Fields: dynamicstorage.PairsOf(map[string]string{"spec.color": "red"}),
	}
	for _, tc := range []struct {
		labels, fields string
		want           bool
	}{
		{"", "", true},
		{"a=b", "", true},
		{"a in (c)", "", false},
		{"", "metadata.name=n,metadata.namespace=ns", true},
		{"", "metadata.namespace=other", false},
		{"", "spec.color=red", true},
		{"", "spec.color!=red", false},
		{"", "spec.size=", true},
		{"a", "spec.color=blue", false},
	} {
		selector, err := labels.Parse(tc.labels)
		if err != nil {
			t.Fatal(err)
		}
		sel := (&requestScope{namespaced: true}).selection("", &metainternal.ListOptions{
			LabelSelector: selector, FieldSelector: fields.ParseSelectorOrDie(tc.fields),
		})
		if got := sel.matches("ns/n", view); got != tc.want {
			t.Errorf("labels %q, fields %q: %t", tc.labels, tc.fields, got)
		}
	}
}

func TestWatchStart(t *testing.T) {
	atHand, consistent := dynamicstorage.ReadAt{Mode: dynamicstorage.Any}, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	nine := dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: 9}
	for name, tc := range map[string]struct {
		opts metainternal.ListOptions
		want watchStart
	}{
		"old path":              {metainternal.ListOptions{}, watchStart{initial: true, at: atHand}},
		"from a revision":       {metainternal.ListOptions{ResourceVersion: "9"}, watchStart{at: nine, after: 9}},
		"watch-list":            {metainternal.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true}, watchStart{initial: true, endMark: true, at: consistent}},
		"watch-list, any":       {metainternal.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersion: "0"}, watchStart{initial: true, endMark: true, at: atHand}},
		"watch-list, not older": {metainternal.ListOptions{SendInitialEvents: ptr.To(true), ResourceVersion: "9"}, watchStart{initial: true, at: nine, after: 9}},
		"no initial events":     {metainternal.ListOptions{SendInitialEvents: ptr.To(false), AllowWatchBookmarks: true}, watchStart{at: consistent}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newWatchStart(&tc.opts)
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
	if _, err := newWatchStart(&metainternal.ListOptions{ResourceVersion: "-1"}); err == nil {
		t.Error("a negative resourceVersion is accepted")
	}
}

// givingUp is a selector whose client goes away at the first object.
type givingUp struct {
	labels.Selector
	leave   func()
	matched int
}

func (s *givingUp) Empty() bool { return false }

func (s *givingUp) Matches(labels.Labels) bool {
	s.leave()
	s.matched++
	return true
}

// TestSelectingEnds: selectors are not held against objects for a client that has gone.
func TestSelectingEnds(t *testing.T) {
	r := newReading(t)
	for n := range 2 * matchesAtOnce {
		r.put(fmt.Sprintf("ns/g%03d", n), "red")
	}
	ctx, leave := context.WithCancel(t.Context())
	selector := &givingUp{Selector: labels.Everything(), leave: leave}
	if _, err := r.scope.readPage(ctx, "ns", &metainternal.ListOptions{LabelSelector: selector}, r.scope.views); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if selector.matched >= matchesAtOnce {
		t.Errorf("%d objects were looked at", selector.matched)
	}
}
