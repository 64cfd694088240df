package crdhandler

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestYAMLMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{name: "not YAML", text: `unknown field "spec.x"`, want: []string{`unknown field "spec.x"`}},
		{
			name: "short prefix",
			text: "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map\n  line 5: key \"b\" already set in map",
			want: []string{`line 3: key "a" already set in map`, `line 5: key "b" already set in map`},
		},
		{
			name: "long prefix",
			text: "error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: key \"a\" already set in map",
			want: []string{`line 3: key "a" already set in map`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := yamlMessages(test.text); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestJudge checks that invalid fields are warnings by default and errors in the mode Strict.
func TestJudge(t *testing.T) {
	t.Parallel()
	found := []error{errors.New(`unknown field "spec.x"`)}
	if err := fieldValidationOf("").judge(t.Context(), found); err != nil {
		t.Errorf("the default is to warn, got %v", err)
	}
	err := fieldValidation(metav1.FieldValidationStrict).judge(t.Context(), found)
	if !runtime.IsStrictDecodingError(err) {
		t.Errorf("got %v, want a strict decoding error", err)
	}
	if err := fieldValidation(metav1.FieldValidationStrict).judge(t.Context(), nil); err != nil {
		t.Errorf("nothing was found, got %v", err)
	}
}
