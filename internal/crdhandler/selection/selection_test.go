package selection

import (
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestNew(t *testing.T) {
	t.Parallel()
	field := func(s string) *metainternal.ListOptions {
		return &metainternal.ListOptions{FieldSelector: fields.ParseSelectorOrDie(s)}
	}
	for name, tc := range map[string]struct {
		cluster     bool
		namespace   string
		opts        *metainternal.ListOptions
		prefix, key string
	}{
		"all":                {opts: &metainternal.ListOptions{}},
		"namespace":          {namespace: "ns", opts: &metainternal.ListOptions{}, prefix: "ns/"},
		"one":                {namespace: "ns", opts: field("metadata.name=a"), prefix: "ns/", key: "ns/a"},
		"one, any namespace": {opts: field("metadata.name=a")},
		"namespace selected": {opts: field("metadata.namespace=ns"), prefix: "ns/"},
		"one selected":       {opts: field("metadata.namespace=ns,metadata.name=a"), prefix: "ns/", key: "ns/a"},
		"bad namespace":      {opts: field("metadata.namespace=n/s")},
		"bad name":           {namespace: "ns", opts: field("metadata.name=a/b"), prefix: "ns/"},
		"not a name":         {namespace: "ns", opts: field("metadata.name!=a"), prefix: "ns/"},
		"cluster":            {cluster: true, opts: &metainternal.ListOptions{}},
		"cluster, one":       {cluster: true, opts: field("metadata.name=a"), key: "a"},
		"cluster, namespace": {cluster: true, opts: field("metadata.namespace=ns")},
		"continued, not again": {opts: &metainternal.ListOptions{Continue: "x",
			FieldSelector: fields.ParseSelectorOrDie("metadata.namespace=ns,metadata.name=a")}},
	} {
		t.Run(name, func(t *testing.T) {
			sel := New(Request{Namespaced: !tc.cluster, Namespace: tc.namespace, Options: tc.opts}, Index{})
			if sel.Prefix != tc.prefix || sel.Key != tc.key {
				t.Errorf("prefix %q, key %q", sel.Prefix, sel.Key)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	view := &dynamicstorage.View{
		Labels: dynamicstorage.PairsOf(map[string]string{"a": "b"}),
		Fields: dynamicstorage.PairsOf(map[string]string{"spec.color": "red"}),
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
		sel := New(Request{Namespaced: true, Options: &metainternal.ListOptions{
			LabelSelector: selector, FieldSelector: fields.ParseSelectorOrDie(tc.fields),
		}}, Index{})
		if got := sel.Matches("ns/n", view); got != tc.want {
			t.Errorf("labels %q, fields %q: %t", tc.labels, tc.fields, got)
		}
	}
}
