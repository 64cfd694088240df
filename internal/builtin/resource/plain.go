package resource

import (
	"reflect"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plain describes a kind with few rules: its metadata is checked, and that some fields stay. If the kind has a status,
// only the subresource writes it.
type Plain[T interface {
	metav1.Object
	runtime.Object
}] struct {
	// Name checks the names of objects. Nil means that they are subdomains of DNS.
	Name apivalidation.ValidateNameFunc
	// Counts says that the generation counts the changes of the specification.
	Counts bool
	// Constant are the paths of the fields that an update cannot change, such as "spec.driver".
	Constant []string
	// Declared are further ones, whose rule is declared.
	Declared []string
	// Check, CheckUpdate and CheckStatus, if they are set, return further errors of a new object, of an update, and of an
	// update of the status.
	Check                    func(obj T) field.ErrorList
	CheckUpdate, CheckStatus func(obj, old T) field.ErrorList
	// PrepareStatus, if set, changes a status before it is checked.
	PrepareStatus func(obj, old T)
	// RequiresVersion refuses updates without a resourceVersion.
	RequiresVersion bool
}

// Rules returns the strategy of the resource.
func (p Plain[T]) Rules() Typed[T] {
	rules := Typed[T]{
		Prepare: dropStatus[T], Check: p.check,
		PrepareUpdate: keepStatus[T], CheckUpdate: p.checkUpdate,
		RequiresVersion: p.RequiresVersion,
	}
	if p.Counts {
		rules.Prepare, rules.PrepareUpdate = Begin[T], Follow[T]
	}
	return rules
}

// Status returns the subresource for the status.
func (p Plain[T]) Status() Subresource {
	rules := Typed[T]{
		PrepareUpdate: func(obj, old T) {
			KeepSpec(obj, old)
			metav1.ResetObjectMetaForStatus(obj, old)
			if p.PrepareStatus != nil {
				p.PrepareStatus(obj, old)
			}
		},
		RequiresVersion: p.RequiresVersion,
		CheckUpdate: func(obj, old T) field.ErrorList {
			errs := CheckMetadataUpdate(obj, old)
			if p.CheckStatus != nil {
				errs = append(errs, p.CheckStatus(obj, old)...)
			}
			return errs
		},
	}
	return Subresource{Name: "status", Strategy: rules, Resets: []string{"metadata", "spec"}}
}

func (p Plain[T]) checkMetadata(obj T) field.ErrorList {
	name := p.Name
	if name == nil {
		name = apivalidation.NameIsDNSSubdomain
	}
	errs := apivalidation.ValidateObjectMetaAccessor(obj, obj.GetNamespace() != "", name, metadataPath)
	return append(errs, CheckFinalizers(obj)...)
}

func (p Plain[T]) check(obj T) field.ErrorList {
	errs := p.checkMetadata(obj)
	if p.Check != nil {
		errs = append(errs, p.Check(obj)...)
	}
	return errs
}

func (p Plain[T]) checkUpdate(obj, old T) field.ErrorList {
	errs := append(p.checkMetadata(obj), apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, metadataPath)...)
	for _, path := range p.Constant {
		after, before, at := valueAt(obj, path), valueAt(old, path), field.NewPath(path)
		errs = append(errs, apivalidation.ValidateImmutableField(after, before, at)...)
	}
	for _, path := range p.Declared {
		errs = append(errs, CheckConstant(field.NewPath(path), valueAt(obj, path), valueAt(old, path))...)
	}
	if p.CheckUpdate != nil {
		errs = append(errs, p.CheckUpdate(obj, old)...)
	}
	return errs
}

// valueAt returns the field of an object at a path.
func valueAt(obj any, path string) any {
	at, _ := findField(reflect.TypeOf(obj), path)
	return at.in(reflect.ValueOf(obj)).Interface()
}

// dropStatus removes the status of an object, if its kind has one.
func dropStatus[T metav1.Object](obj T) {
	if status := fieldOf(obj, "Status"); status.IsValid() {
		status.SetZero()
	}
}

func keepStatus[T metav1.Object](obj, old T) {
	if status := fieldOf(obj, "Status"); status.IsValid() {
		status.Set(fieldOf(old, "Status"))
	}
}
