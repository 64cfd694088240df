package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// on returns a request for an object.
func on(verb, group, resource, subresource, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Name: name, ResourceRequest: true,
	}
}

func at(verb, path string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{Verb: verb, Path: path}
}

func rule(verbs, groups, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
}

func TestRules(t *testing.T) {
	t.Parallel()
	get, all := []string{"get"}, []string{"*"}
	pods := rule(get, []string{""}, []string{"pods"})
	for name, test := range map[string]struct {
		rule    rbacv1.PolicyRule
		request authorizer.AttributesRecord
		want    bool
	}{
		"a resource":          {pods, on("get", "", "pods", "", "x"), true},
		"another verb":        {pods, on("list", "", "pods", "", ""), false},
		"another group":       {pods, on("get", "apps", "pods", "", "x"), false},
		"a subresource":       {pods, on("get", "", "pods", "status", "x"), false},
		"a path of that name": {pods, at("get", "pods"), false},
		"a named subresource": {rule(get, []string{""}, []string{"pods/status"}),
			on("get", "", "pods", "status", "x"), true},
		"but not the resource": {rule(get, []string{""}, []string{"pods/status"}), on("get", "", "pods", "", "x"),
			false},
		"a subresource of all": {rule(get, []string{""}, []string{"*/status"}), on("get", "", "pods", "status", "x"),
			true},
		"another subresource of all": {rule(get, []string{""}, []string{"*/status"}), on("get", "", "pods", "scale", "x"),
			false},
		"the wildcard of all groups": {rule(get, all, []string{"*/status"}), on("get", "apps", "sets", "status", "x"),
			true},
		"every resource":       {rule(get, []string{"apps"}, all), on("get", "apps", "sets", "scale", "x"), true},
		"every group":          {rule(get, all, []string{"pods"}), on("get", "apps", "pods", "", "x"), true},
		"everything":           {rule(all, all, all), on("use", "policy", "podsecuritypolicies", "", "x"), true},
		"everything but paths": {rule(all, all, all), at("get", "/metrics"), false},
		"an object": {rule(get, []string{""}, []string{"pods"}, "x", "y"), on("get", "", "pods", "", "y"),
			true},
		"another object": {rule(get, []string{""}, []string{"pods"}, "x"), on("get", "", "pods", "", "z"),
			false},
		"objects are not a collection": {rule(get, []string{""}, []string{"pods"}, "x"), on("get", "", "pods", "", ""),
			false},
		"an object of all resources": {rule(get, all, all, "x"), on("get", "", "pods", "log", "x"), true},
		"a path": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{"/metrics"}},
			at("get", "/metrics"), true},
		"a longer path": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{"/metrics"}},
			at("get", "/metrics/slis"), false},
		"a prefix": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{"/apis/*"}},
			at("get", "/apis/x/v1"), true},
		"the prefix without its slash": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{"/apis/*"}},
			at("get", "/apis"), false},
		"two asterisks": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{"/logs/**"}},
			at("get", "/logs/x"), true},
		"every path":             {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: all}, at("get", "/"), true},
		"another verb of a path": {rbacv1.PolicyRule{Verbs: get, NonResourceURLs: all}, at("post", "/"), false},
	} {
		var s ruleSet
		s.add(&test.rule, 3)
		if got := s.find(test.request); (got == 3) != test.want || !test.want && got != nowhere {
			t.Errorf("%s: %d, want %v", name, got, test.want)
		}
	}
}

// TestFirstRule checks that the first of several rules is found, and that rules which others cover take no memory.
func TestFirstRule(t *testing.T) {
	t.Parallel()
	var s ruleSet
	for at, r := range []rbacv1.PolicyRule{
		rule([]string{"list"}, []string{""}, []string{"pods"}), rule([]string{"get"}, []string{""}, []string{"pods"}, "x"),
		rule([]string{"get"}, []string{"*"}, []string{"*"}), rule([]string{"get"}, []string{""}, []string{"pods"}),
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/a/*"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/a/b"}},
	} {
		s.add(&r, at)
	}
	size := s.size
	again := rule([]string{"get"}, []string{""}, []string{"pods"})
	s.add(&again, 9)
	if s.size != size {
		t.Error("a rule that another one covers was added")
	}
	for want, request := range map[int]authorizer.AttributesRecord{
		0: on("list", "", "pods", "", ""), 1: on("get", "", "pods", "", "x"), 2: on("get", "", "pods", "", "y"),
		4: at("get", "/a/b"), nowhere: on("delete", "", "pods", "", "x"),
	} {
		if got := s.find(request); got != want {
			t.Errorf("%+v: %d, want %d", request, got, want)
		}
	}
}
