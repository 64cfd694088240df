package devices

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkRequest checks one request of a claim: for devices, or for the first available of several choices.
func checkRequest(request *resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	errs := checkLabel(request.Name, path.Child("name"))
	const exactlyOne = "exactly one of `exactly` or `firstAvailable` is required"
	switch {
	case request.Exactly == nil && len(request.FirstAvailable) == 0:
		return append(errs, field.Required(path, exactlyOne))
	case request.Exactly != nil && len(request.FirstAvailable) > 0:
		return append(errs, field.Invalid(path, nil, exactlyOne+", but multiple fields are set"))
	case request.Exactly != nil:
		wanted := request.Exactly
		path = path.Child("exactly")
		errs = append(errs, checkClassName(wanted.DeviceClassName, path.Child("deviceClassName"))...)
		return append(errs, wantedDevices{
			wanted.Selectors, wanted.AllocationMode, wanted.Count, wanted.Tolerations,
		}.check(path)...)
	}
	if len(request.FirstAvailable) > resourcev1.FirstAvailableDeviceRequestMaxSize {
		return errs // a declarative rule
	}
	for n := range request.FirstAvailable {
		wanted, path := &request.FirstAvailable[n], path.Child("firstAvailable").Index(n)
		errs = append(errs, checkLabel(wanted.Name, path.Child("name"))...)
		errs = append(errs, wantedDevices{
			wanted.Selectors, wanted.AllocationMode, wanted.Count, wanted.Tolerations,
		}.check(path)...)
	}
	return errs
}

func checkClassName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

// wantedDevices is what both forms of a request have.
type wantedDevices struct {
	selectors   []resourcev1.DeviceSelector
	mode        resourcev1.DeviceAllocationMode
	count       int64
	tolerations []resourcev1.DeviceToleration
}

func (w wantedDevices) check(path *field.Path) field.ErrorList {
	errs := checkSelectors(w.selectors, path.Child("selectors"), false)
	count := path.Child("count")
	switch {
	case w.mode == resourcev1.DeviceAllocationModeAll && w.count != 0:
		errs = append(errs, field.Invalid(count, w.count, "must not be specified when allocationMode is 'All'"))
	case w.mode == resourcev1.DeviceAllocationModeExactCount && w.count <= 0:
		errs = append(errs, field.Invalid(count, w.count, "must be greater than zero"))
	}
	for n := range w.tolerations {
		errs = append(errs, checkToleration(&w.tolerations[n], path.Child("tolerations").Index(n))...)
	}
	return errs
}

// checkToleration checks the value. The other fields have declarative rules.
func checkToleration(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	path = path.Child("value")
	switch {
	case t.Operator == resourcev1.DeviceTolerationOpEqual:
		return invalid(path, t.Value, validation.IsValidLabelValue(t.Value))
	case t.Operator == resourcev1.DeviceTolerationOpExists && t.Value != "":
		return field.ErrorList{field.Invalid(path, t.Value, "must be empty for operator `Exists`")}
	}
	return nil
}

// requests are the names of the requests of a claim, each with the names of its choices.
type requests map[string]sets.Set[string]

func requestNames(all []resourcev1.DeviceRequest) requests {
	names := requests{}
	for n := range all {
		choices := sets.New[string]()
		for m := range all[n].FirstAvailable {
			choices.Insert(all[n].FirstAvailable[m].Name)
		}
		names[all[n].Name] = choices
	}
	return names
}

// check checks references to requests.
func (r requests) check(refs []string, path *field.Path) (errs field.ErrorList) {
	if len(refs) > resourcev1.DeviceRequestsMaxSize {
		return nil // a declarative rule
	}
	for n, ref := range refs {
		errs = append(errs, r.checkOne(ref, path.Index(n))...)
	}
	return errs
}

func (r requests) checkOne(ref string, path *field.Path) (errs field.ErrorList) {
	const text = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	parts := strings.Split(ref, "/")
	if len(parts) > 2 {
		return field.ErrorList{field.Invalid(path, ref, text)}
	}
	for _, part := range parts {
		errs = append(errs, checkLabel(part, path)...)
	}
	choices, ok := r[parts[0]]
	if !ok || len(parts) == 2 && !choices.Has(parts[1]) {
		errs = append(errs, field.Invalid(path, ref, text))
	}
	return errs
}
