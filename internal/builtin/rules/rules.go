// Package rules has what the rules of different kinds are made of. Rules are functions that return errors, which
// slices.Concat joins in the order of kube-apiserver; begin with When.
package rules

import (
	"reflect"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// When returns the error if the rule is broken.
func When(broken bool, err *field.Error) field.ErrorList {
	if !broken {
		return nil
	}
	return field.ErrorList{err}
}

// Invalid returns an error about a value if a rule is broken.
func Invalid(broken bool, path *field.Path, value any, message string) field.ErrorList {
	if !broken {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, message)}
}

// Forbidden returns an error about a field that may not be set, or changed, if a rule is broken.
func Forbidden(broken bool, path *field.Path, message string) field.ErrorList {
	if !broken {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, message)}
}

// Missing returns an error about a field that has to be set if a rule is broken.
func Missing(broken bool, path *field.Path, message string) field.ErrorList {
	if !broken {
		return nil
	}
	return field.ErrorList{field.Required(path, message)}
}

// Each returns the errors of all items of a list.
func Each[T any](items []T, path *field.Path, check func(*T, *field.Path) field.ErrorList) (errs field.ErrorList) {
	for n := range items {
		errs = append(errs, check(&items[n], path.Index(n))...)
	}
	return errs
}

// Every is Each for items that are passed by value.
func Every[T any](items []T, path *field.Path, check func(T, *field.Path) field.ErrorList) field.ErrorList {
	return Each(items, path, func(item *T, path *field.Path) field.ErrorList { return check(*item, path) })
}

// Optional checks a value that may be left out.
func Optional[T any](value *T, path *field.Path, check func(T, *field.Path) field.ErrorList) field.ErrorList {
	if value == nil {
		return nil
	}
	return check(*value, path)
}

// Messages returns an error for each message.
func Messages(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// Required checks that a text is not empty.
func Required[T ~string](text T, path *field.Path) field.ErrorList {
	return When(text == "", field.Required(path, ""))
}

// OneOf checks a required value of an enumeration. The error lists the values in the order of known.
func OneOf[T ~string](value T, path *field.Path, known ...T) field.ErrorList {
	if value == "" {
		return Required(value, path)
	}
	return Known(value, path, known...)
}

// Known checks a value of an enumeration, of which the empty value is not supported either.
func Known[T ~string](value T, path *field.Path, known ...T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// NonNegative checks that a number is not negative.
func NonNegative[T ~int32 | ~int64](number T, path *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(number), path)
}

// fieldOf returns a field of a struct, to which from points, by its name in JSON. The name in Go begins with a capital.
func fieldOf(from any, name string) reflect.Value {
	return reflect.ValueOf(from).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
}

// NonNegatives checks that fields of a struct are not negative. They are numbers, or pointers to them. from points to
// the struct, and the names are those of JSON.
func NonNegatives(from any, path *field.Path, names ...string) (errs field.ErrorList) {
	for _, name := range names {
		if number := fieldOf(from, name); number.Kind() != reflect.Pointer || !number.IsNil() {
			errs = append(errs, NonNegative(reflect.Indirect(number).Int(), path.Child(name))...)
		}
	}
	return errs
}

// Constant checks that an update does not change fields of a struct. now and old point to the structs.
func Constant(now, old any, path *field.Path, names ...string) (errs field.ErrorList) {
	for _, name := range names {
		errs = append(errs, apivalidation.ValidateImmutableField(
			fieldOf(now, name).Interface(), fieldOf(old, name).Interface(), path.Child(name))...)
	}
	return errs
}

// Unset checks that fields of a struct are left out.
func Unset(from any, path *field.Path, message string, names ...string) (errs field.ErrorList) {
	for _, name := range names {
		errs = append(errs, Forbidden(!fieldOf(from, name).IsZero(), path.Child(name), message)...)
	}
	return errs
}

// CountSet returns how many of the fields of a struct, which are pointers, are set. from points to the struct.
func CountSet(from any) (count int) {
	for _, value := range reflect.ValueOf(from).Elem().Fields() {
		if !value.IsNil() {
			count++
		}
	}
	return count
}

// Name checks the name of another object, if there is one.
func Name(name string, path *field.Path, check apivalidation.ValidateNameFunc) field.ErrorList {
	if name == "" {
		return nil
	}
	return Messages(path, name, check(name, false))
}

// RequiredName checks the name of another object, which must have one.
func RequiredName(name string, path *field.Path, check apivalidation.ValidateNameFunc) field.ErrorList {
	return append(Required(name, path), Name(name, path, check)...)
}

// Label checks a text that is a label of DNS.
func Label(text string, path *field.Path) field.ErrorList {
	return Messages(path, text, validation.IsDNS1123Label(text))
}

// RequiredLabel checks a text that is not empty, and a label of DNS.
func RequiredLabel(text string, path *field.Path) field.ErrorList {
	return RequiredName(text, path, apivalidation.NameIsDNSLabel)
}

// Subdomain checks a text that is a subdomain of DNS.
func Subdomain(text string, path *field.Path) field.ErrorList {
	return Messages(path, text, validation.IsDNS1123Subdomain(text))
}

// IP checks the address of an IP, which may have leading zeros as in the past.
func IP(text string, path *field.Path) field.ErrorList {
	return validation.IsValidIPForLegacyField(path, text, false, nil)
}

// QualifiedName checks a text that is a name with a domain before it, or without.
func QualifiedName[T ~string](text T, path *field.Path) field.ErrorList {
	return Messages(path, text, validation.IsQualifiedName(string(text)))
}

// LabelValue checks the value of a label.
func LabelValue(text string, path *field.Path) field.ErrorList {
	return Messages(path, text, validation.IsValidLabelValue(text))
}

// AtMost checks the length of a list.
func AtMost[T any](items []T, most int, path *field.Path) field.ErrorList {
	return When(len(items) > most, field.TooMany(path, len(items), most))
}

// Port checks the number or the name of a port.
func Port(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.Int {
		return Messages(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	}
	return Messages(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}

// IntOrPercent checks a number of pods, or a percentage of them.
func IntOrPercent(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	if value.Type == intstr.Int {
		return NonNegative(value.IntVal, path)
	}
	return Messages(path, *value, validation.IsValidPercent(value.StrVal))
}

// PercentLimit checks that a percentage is not more than everything.
func PercentLimit(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil || value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return nil
	}
	return When(NumberOf(value) > 100, field.Invalid(path, *value, "must not be greater than 100%"))
}

// NumberOf returns a number of pods, or the number before the percent sign.
func NumberOf(value *intstr.IntOrString) int {
	if value == nil {
		return 0
	}
	if percent, err := intstr.GetScaledValueFromIntOrPercent(value, 100, true); err == nil {
		return percent
	}
	return value.IntValue()
}

// Unique returns a rule for the values of a list, which is called in their order: none occurs twice.
func Unique[T comparable]() func(value T, path *field.Path) field.ErrorList {
	seen := map[T]bool{}
	return func(value T, path *field.Path) field.ErrorList {
		repeated := seen[value]
		seen[value] = true
		return When(repeated, field.Duplicate(path, value))
	}
}
