package flowcontrol

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkRule checks which requests a schema matches.
func checkRule(rule *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) (errs field.ErrorList) {
	if len(rule.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for n := range rule.Subjects {
		errs = append(errs, checkSubject(&rule.Subjects[n], path.Child("subjects").Index(n))...)
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		const text = "at least one of resourceRules and nonResourceRules has to be non-empty"
		errs = append(errs, field.Required(path, text))
	}
	for n := range rule.ResourceRules {
		errs = append(errs, checkResourceRule(&rule.ResourceRules[n], path.Child("resourceRules").Index(n))...)
	}
	for n := range rule.NonResourceRules {
		errs = append(errs, checkURLRule(&rule.NonResourceRules[n], path.Child("nonResourceRules").Index(n))...)
	}
	return errs
}

// checkSubject checks that a subject has the member of its kind, and no other.
func checkSubject(subject *flowcontrolv1.Subject, path *field.Path) (errs field.ErrorList) {
	account, user, group := path.Child("serviceAccount"), path.Child("user"), path.Child("group")
	switch subject.Kind {
	case flowcontrolv1.SubjectKindServiceAccount:
		errs = checkAccount(subject.ServiceAccount, account)
	case flowcontrolv1.SubjectKindUser:
		if subject.User == nil {
			errs = append(errs, field.Required(user, "user is required when subject kind is 'User'"))
		} else if subject.User.Name == "" {
			errs = append(errs, field.Required(user.Child("name"), ""))
		}
	case flowcontrolv1.SubjectKindGroup:
		if subject.Group == nil {
			errs = append(errs, field.Required(group, "group is required when subject kind is 'Group'"))
		} else if subject.Group.Name == "" {
			errs = append(errs, field.Required(group.Child("name"), ""))
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("kind"), subject.Kind, []flowcontrolv1.SubjectKind{
			flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser,
		})}
	}
	if subject.ServiceAccount != nil && subject.Kind != flowcontrolv1.SubjectKindServiceAccount {
		const text = "serviceAccount is forbidden when subject kind is not 'ServiceAccount'"
		errs = append(errs, field.Forbidden(account, text))
	}
	if subject.User != nil && subject.Kind != flowcontrolv1.SubjectKindUser {
		errs = append(errs, field.Forbidden(user, "user is forbidden when subject kind is not 'User'"))
	}
	if subject.Group != nil && subject.Kind != flowcontrolv1.SubjectKindGroup {
		errs = append(errs, field.Forbidden(group, "group is forbidden when subject kind is not 'Group'"))
	}
	return errs
}

func checkAccount(account *flowcontrolv1.ServiceAccountSubject, path *field.Path) (errs field.ErrorList) {
	if account == nil {
		return field.ErrorList{field.Required(path, "serviceAccount is required when subject kind is 'ServiceAccount'")}
	}
	switch account.Name {
	case "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case flowcontrolv1.NameAll:
	default:
		for _, text := range apivalidation.ValidateServiceAccountName(account.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), account.Name, text))
		}
	}
	if account.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	for _, text := range apivalidation.ValidateNamespaceName(account.Namespace, false) {
		errs = append(errs, field.Invalid(path.Child("namespace"), account.Namespace, text))
	}
	return errs
}

// verbs are those of requests.
var verbs = sets.New("get", "list", "create", "update", "delete", "deletecollection", "patch", "watch", "proxy")

func checkVerbs(wanted []string, path *field.Path) field.ErrorList {
	switch {
	case len(wanted) == 0:
		return field.ErrorList{field.Required(path, "verbs must contain at least one value")}
	case slices.Contains(wanted, flowcontrolv1.VerbAll):
		if len(wanted) > 1 {
			return field.ErrorList{field.Invalid(path, wanted, "if '*' is present, must not specify other verbs")}
		}
	case !verbs.HasAll(wanted...):
		return field.ErrorList{field.NotSupported(path, wanted, sets.List(verbs))}
	}
	return nil
}

// checkNames checks a list of names, in which "*" stands alone.
func checkNames(names []string, path *field.Path, missing, kind string) field.ErrorList {
	switch {
	case len(names) == 0:
		return field.ErrorList{field.Required(path, missing)}
	case len(names) > 1 && slices.Contains(names, "*"):
		return field.ErrorList{field.Invalid(path, names, "if '*' is present, must not specify other "+kind)}
	}
	return nil
}

func checkResourceRule(rule *flowcontrolv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := checkVerbs(rule.Verbs, path.Child("verbs"))
	errs = append(errs, checkNames(rule.APIGroups, path.Child("apiGroups"),
		"resource rules must supply at least one api group", "api groups")...)
	errs = append(errs, checkNames(rule.Resources, path.Child("resources"),
		"resource rules must supply at least one resource", "resources")...)
	namespaces := path.Child("namespaces")
	if len(rule.Namespaces) == 0 && rule.ClusterScope {
		return errs
	}
	const missing = "resource rules that are not cluster scoped must supply at least one namespace"
	errs = append(errs, checkNames(rule.Namespaces, namespaces, missing, "namespaces")...)
	if slices.Contains(rule.Namespaces, flowcontrolv1.NamespaceEvery) {
		return errs
	}
	for n, name := range rule.Namespaces {
		for _, text := range apivalidation.ValidateNamespaceName(name, false) {
			text = "each member of this list must be '*' or a DNS-1123 label; " + text
			errs = append(errs, field.Invalid(namespaces.Index(n), name, text))
		}
	}
	return errs
}

func checkURLRule(rule *flowcontrolv1.NonResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := checkVerbs(rule.Verbs, path.Child("verbs"))
	urls := path.Child("nonResourceURLs")
	errs = append(errs, checkNames(rule.NonResourceURLs, urls,
		"nonResourceURLs must contain at least one value", "non-resource URLs")...)
	if slices.Contains(rule.NonResourceURLs, flowcontrolv1.NonResourceAll) {
		return errs
	}
	for n, url := range rule.NonResourceURLs {
		if text := urlError(url); text != "" {
			errs = append(errs, field.Invalid(urls.Index(n), url, text))
		}
	}
	return errs
}

// urlError says what is wrong with the path of a URL. It is empty if nothing is.
func urlError(url string) string {
	stars := strings.Count(url, "*")
	switch {
	case url == "":
		return "must not be empty"
	case url == "/":
		return ""
	case !strings.HasPrefix(url, "/"):
		return "must start with slash"
	case strings.Contains(url, " "):
		return "must not contain white-space"
	case strings.Contains(url, "//"):
		return "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(url, "/*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}
