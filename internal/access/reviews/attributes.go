package reviews

import (
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// attributesOf returns the attributes for the authorizer, and messages about selectors that it ignores.
func attributesOf(
	who user.Info, resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes,
) (authorizer.AttributesRecord, []string) {
	if resource == nil {
		return authorizer.AttributesRecord{User: who, Verb: other.Verb, Path: other.Path}, nil
	}
	attributes := authorizer.AttributesRecord{
		User: who, ResourceRequest: true, Verb: resource.Verb,
		Namespace: resource.Namespace, APIGroup: resource.Group, APIVersion: resource.Version,
		Resource: resource.Resource, Subresource: resource.Subresource, Name: resource.Name,
	}
	if attributes.APIVersion == "" {
		attributes.APIVersion = "*"
	}
	var misread []string
	if s := resource.FieldSelector; s != nil {
		attributes.FieldSelectorRequirements, attributes.FieldSelectorParsingErr = fieldSelector(s)
		misread = ignored(misread, "fieldSelector", len(attributes.FieldSelectorRequirements),
			attributes.FieldSelectorParsingErr)
	}
	if s := resource.LabelSelector; s != nil {
		attributes.LabelSelectorRequirements, attributes.LabelSelectorParsingErr = labelSelector(s)
		misread = ignored(misread, "labelSelector", len(attributes.LabelSelectorRequirements),
			attributes.LabelSelectorParsingErr)
	}
	return attributes, misread
}

// ignored adds a message that a selector is ignored, or part of it. That is safe: requirements only narrow a request.
func ignored(misread []string, selector string, understood int, err error) []string {
	switch {
	case err == nil:
		return misread
	case understood > 0:
		return append(misread, "spec.resourceAttributes."+selector+" partially ignored due to parse error")
	}
	return append(misread, "spec.resourceAttributes."+selector+" ignored due to parse error")
}

func joined(messages []string) string { return strings.Join(messages, "; ") }

func fieldSelector(s *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if len(s.Requirements) == 0 {
		if s.RawSelector == "" {
			return nil, nil
		}
		parsed, err := fields.ParseSelector(s.RawSelector)
		if err != nil {
			return nil, err
		}
		return parsed.Requirements(), nil
	}
	operators := map[metav1.FieldSelectorOperator]selection.Operator{
		metav1.FieldSelectorOpIn: selection.Equals, metav1.FieldSelectorOpNotIn: selection.NotEquals,
	}
	var (
		understood fields.Requirements
		errs       []error
	)
	for _, r := range s.Requirements {
		operator, ok := operators[r.Operator]
		if !ok || len(r.Values) != 1 {
			errs = append(errs, fmt.Errorf("field selector %s %s with %d values is not supported", r.Key, r.Operator,
				len(r.Values)))
			continue
		}
		understood = append(understood, fields.Requirement{Field: r.Key, Operator: operator, Value: r.Values[0]})
	}
	return understood, errors.Join(errs...)
}

func labelSelector(s *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if len(s.Requirements) == 0 {
		if s.RawSelector == "" {
			return nil, nil
		}
		parsed, err := labels.Parse(s.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := parsed.Requirements()
		return requirements, nil
	}
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
		metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	var (
		understood labels.Requirements
		errs       []error
	)
	for _, r := range s.Requirements {
		requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		understood = append(understood, *requirement)
	}
	return understood, errors.Join(errs...)
}
