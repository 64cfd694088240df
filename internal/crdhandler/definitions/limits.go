package definitions

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/crds"
)

// The limits of a CRD (C10). kube-apiserver has none of them: there a small CRD can take gigabytes, because its parts
// multiply with each other. With them, a CRD takes memory in proportion to its size.
const (
	// MaxVersions bounds what every version takes: paths and documents in discovery and OpenAPI, series of metrics.
	MaxVersions = 100
	// MaxNames bounds the short names, and the categories. Discovery repeats them for every version.
	MaxNames = 100
	// MaxColumns bounds the printer columns of a version. Each is evaluated for every object of a Table.
	MaxColumns = 200
	// MaxPathLength bounds the JSONPaths of columns and of the scale subresource. Parsing one takes stack for every step.
	MaxPathLength = 1000
	// MaxBytes is the size of a CRD in v1. It is that of the largest body of a request.
	MaxBytes = 3 << 20
)

// limitErrors returns the limits that a CRD exceeds. It returns early, so that little work is done for a hostile CRD.
func limitErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	errs := nameErrors(&spec.Names, path.Child("names"))
	errs = append(errs, statusErrors(crd)...)
	if n := len(spec.Versions); n > MaxVersions {
		errs = append(errs, field.TooMany(path.Child("versions"), n, MaxVersions))
	}
	if len(errs) > 0 {
		return errs
	}
	schemas := schemaLimits{}
	common := versionParts{spec.Validation, spec.AdditionalPrinterColumns, spec.Subresources}
	errs = common.errors(&schemas, len(spec.Versions), path, path.Child("validation"))
	for n := 0; n < len(spec.Versions) && len(errs) == 0; n++ {
		version, path := &spec.Versions[n], path.Child("versions").Index(n)
		parts := versionParts{version.Schema, version.AdditionalPrinterColumns, version.Subresources}
		errs = parts.errors(&schemas, 1, path, path.Child("schema"))
	}
	if len(errs) > 0 {
		return errs
	}
	return sizeErrors(crd)
}

// statusErrors returns the limits that the status exceeds.
func statusErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	return nameErrors(&crd.Status.AcceptedNames, field.NewPath("status", "acceptedNames"))
}

// sizeErrors returns an error if the CRD is larger than MaxBytes with the parts that its versions share in each of
// them. The CRD is stored without the repetition, so that many patches could make it as large.
func sizeErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	versions := crd.Spec.Versions
	if len(versions) < 2 || !hasSharedParts(&crd.Spec) {
		return nil
	}
	first := *crd
	first.Spec.Versions = versions[:1]
	served, err := crds.ToV1(&first)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	encoded, err := json.Marshal(&served.Spec.Versions[0])
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if n := len(encoded) * len(versions); n > MaxBytes {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), n,
			fmt.Sprintf("must have at most %d bytes with what all versions share in each of them", MaxBytes))}
	}
	return nil
}

func hasSharedParts(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	return spec.Validation != nil || len(spec.AdditionalPrinterColumns) > 0 || len(spec.SelectableFields) > 0
}

// versionParts are the parts of one version, or those that all versions share.
type versionParts struct {
	schema       *apiextensions.CustomResourceValidation
	columns      []apiextensions.CustomResourceColumnDefinition
	subresources *apiextensions.CustomResourceSubresources
}

// errors returns the limits that the parts of some versions exceed, together with those in schemas.
func (p *versionParts) errors(schemas *schemaLimits, versions int, path, schema *field.Path) field.ErrorList {
	errs := columnErrors(p.columns, path.Child("additionalPrinterColumns"))
	errs = append(errs, scaleErrors(p.subresources, path.Child("subresources", "scale"))...)
	return append(errs, schemas.check(p.schema, versions, schema)...)
}

func nameErrors(names *apiextensions.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := len(names.ShortNames); n > MaxNames {
		errs = append(errs, field.TooMany(path.Child("shortNames"), n, MaxNames))
	}
	if n := len(names.Categories); n > MaxNames {
		errs = append(errs, field.TooMany(path.Child("categories"), n, MaxNames))
	}
	return errs
}

func columnErrors(columns []apiextensions.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	if n := len(columns); n > MaxColumns {
		return field.ErrorList{field.TooMany(path, n, MaxColumns)}
	}
	var errs field.ErrorList
	for n := range columns {
		errs = append(errs, pathErrors(columns[n].JSONPath, path.Index(n).Child("jsonPath"))...)
	}
	return errs
}

func scaleErrors(subresources *apiextensions.CustomResourceSubresources, path *field.Path) field.ErrorList {
	if subresources == nil || subresources.Scale == nil {
		return nil
	}
	scale := subresources.Scale
	errs := lengthErrors(scale.SpecReplicasPath, path.Child("specReplicasPath"), MaxPathLength)
	errs = append(errs, lengthErrors(scale.StatusReplicasPath, path.Child("statusReplicasPath"), MaxPathLength)...)
	if selector := scale.LabelSelectorPath; selector != nil {
		errs = append(errs, lengthErrors(*selector, path.Child("labelSelectorPath"), MaxPathLength)...)
	}
	return errs
}

func lengthErrors(text string, path *field.Path, most int) field.ErrorList {
	if len(text) <= most {
		return nil
	}
	return field.ErrorList{field.TooLong(path, text, most)}
}
