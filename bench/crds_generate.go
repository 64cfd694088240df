package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// generatedSizes are sizes in bytes of the JSON of the AWS provider's 2,065 CRDs: every twentieth quantile.
var generatedSizes = []int{
	2521, 8993, 9879, 10800, 12149, 13057, 13882, 14595, 15437, 16573, 17554,
	18521, 19837, 22105, 24748, 28520, 34633, 42799, 55966, 87423, 851449,
}

// generatedPerGroup is the average number of its CRDs in a group.
const generatedPerGroup = 6

// fieldText is the description of a field.
const fieldText = "What the provider is asked for. Changing it replaces the resource. Defaults to what the account " +
	"says for its region."

// generateCRDs returns CRDs with the sizes of those of a large provider.
func generateCRDs(count int) ([]*Definition, error) {
	all := make([]*Definition, count)
	for i := range all {
		// Sizes are spread over the groups, and so over time.
		body, err := json.Marshal(generatedCRD(i, generatedSize(float64(i*7919%count)/float64(max(count-1, 1)))))
		if err != nil {
			return nil, err
		}
		if all[i], err = newDefinition(body); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// generatedSize returns the size of a quantile.
func generatedSize(part float64) int {
	at := part * float64(len(generatedSizes)-1)
	below := min(int(at), len(generatedSizes)-2)
	low, high := float64(generatedSizes[below]), float64(generatedSizes[below+1])
	return int(low + (high-low)*(at-float64(below)))
}

type object = map[string]any

func generatedCRD(i, size int) object {
	group := fmt.Sprintf("group%d.generated.example.com", i/generatedPerGroup)
	kind := fmt.Sprintf("Generated%d", i)
	plural := strings.ToLower(kind) + "s"
	// Spec and status have the same fields, as in a provider's CRDs.
	fields := max(1, (size-1200)/2/(len(fieldText)+60))
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": plural + "." + group},
		"spec": object{
			"group": group, "scope": "Cluster",
			"names": object{
				"plural": plural, "singular": strings.ToLower(kind), "kind": kind, "listKind": kind + "List",
				"categories": []string{"generated", "managed"},
			},
			"versions": []object{{
				"name": "v1beta1", "served": true, "storage": true,
				"subresources": object{"status": object{}},
				"additionalPrinterColumns": []object{
					{"name": "Ready", "type": "string", "jsonPath": `.status.conditions[?(@.type=='Ready')].status`},
					{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
				},
				"schema": object{"openAPIV3Schema": object{"type": "object", "required": []string{"spec"}, "properties": object{
					"spec": object{
						"type": "object", "properties": object{
							"deletionPolicy": object{"type": "string", "enum": []string{"Orphan", "Delete"}, "default": "Delete"},
							"forProvider":    generatedFields(fields, 0),
						},
						"x-kubernetes-validations": []object{{"rule": "has(self.forProvider)",
							"message": "spec.forProvider is required"}},
					},
					"status": object{"type": "object", "properties": object{"atProvider": generatedFields(fields, 0)}},
				}}},
			}},
		},
	}
}

// generatedFields returns a nested schema with about that many fields.
func generatedFields(count, depth int) object {
	const wide = 12
	properties := object{}
	for i := 0; count > 0; i++ {
		name := fmt.Sprintf("field%d", i)
		if i >= wide/2 && count > wide && depth < 8 {
			// The rest goes into a few objects and lists of objects.
			part := max(wide, count/(wide/2))
			part = min(part, count)
			nested := generatedFields(part-1, depth+1)
			if i%2 == 0 {
				nested = object{"type": "array", "items": nested, "description": fieldText}
			}
			properties[name] = nested
			count -= part
			continue
		}
		properties[name] = object{"type": []string{"string", "boolean", "number"}[i%3], "description": fieldText}
		count--
	}
	return object{"type": "object", "description": fieldText, "properties": properties}
}
