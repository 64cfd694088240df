package validation

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/util/jsonpath"
)

// SelectableFields returns the values of the declared selectable fields of an object by name, "" for a missing field.
// It returns nil if none is declared.
func (v *Version) SelectableFields(obj map[string]any) (map[string]string, error) {
	declared, err := v.selectableFields.get(v.compileSelectableFields)
	if err != nil || len(declared) == 0 {
		return nil, err
	}
	values := make(map[string]string, len(declared))
	for i := range declared {
		field := &declared[i]
		value, err := field.find(obj)
		if err != nil {
			return nil, err
		}
		values[field.name] = text(value)
	}
	return values, nil
}

// text returns a value in the form that selectors compare. A float that JSON has no sign of is an integer once it was
// stored and read.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case float64:
		if value == math.Trunc(value) && value >= math.MinInt64 && value < -math.MinInt64 {
			return strconv.FormatInt(int64(value), 10)
		}
	}
	return fmt.Sprint(value)
}

// selectableField finds the value of one declared field.
type selectableField struct {
	name string
	find func(obj map[string]any) (any, error)
}

// plainPath matches a JSON path that consists of names only. The CRD endpoint accepts no others today.
var plainPath = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

func (v *Version) compileSelectableFields() ([]selectableField, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CustomResourceFieldSelectors) {
		return nil, nil
	}
	fields := make([]selectableField, len(v.spec.SelectableFields))
	for i, declared := range v.spec.SelectableFields {
		fields[i].name = strings.TrimPrefix(declared.JSONPath, ".")
		if plainPath.MatchString(declared.JSONPath) {
			fields[i].find = followNames(strings.Split(fields[i].name, "."))
		} else {
			fields[i].find = evaluate(declared.JSONPath)
		}
	}
	return fields, nil
}

// followNames evaluates a JSON path of names. The result is nil if a name is missing or a parent is not an object.
func followNames(names []string) func(map[string]any) (any, error) {
	return func(obj map[string]any) (any, error) {
		var value any = obj
		for _, name := range names {
			fields, _ := value.(map[string]any)
			value = fields[name]
		}
		return value, nil
	}
}

// evaluate evaluates any other path with the library. An invalid path is an error of every evaluation.
func evaluate(path string) func(map[string]any) (any, error) {
	parser := jsonpath.New("selectableField")
	parser.AllowMissingKeys(true)
	parseErr := parser.Parse("{" + path + "}")
	var mu sync.Mutex // guards parser, which keeps state while it evaluates
	return func(obj map[string]any) (any, error) {
		if parseErr != nil {
			return nil, fmt.Errorf("unexpected error parsing jsonPath: %w", parseErr)
		}
		mu.Lock()
		defer mu.Unlock()
		results, err := parser.FindResults(obj)
		switch {
		case err != nil:
			return nil, fmt.Errorf("unexpected error finding value with jsonPath: %w", err)
		case len(results) == 0 || len(results[0]) == 0:
			return nil, nil
		case len(results) > 1 || len(results[0]) > 1:
			return nil, errors.New("unexpectedly received more than one JSON path result")
		}
		return results[0][0].Interface(), nil
	}
}
