package policy

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// labels of aggregated roles, without the name of the role that they add to.
const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// clusterRoles returns the default ClusterRoles of every server. Aggregated ones have no rules.
func clusterRoles() []*rbacv1.ClusterRole {
	return slices.Concat([]*rbacv1.ClusterRole{
		// A user who may do everything.
		newRole("cluster-admin", may(anything, anything, "*"), rbacv1.PolicyRule{Verbs: anything, NonResourceURLs: anything}),
		// What every client does first: is the server ready, and what does it serve.
		newRole("system:discovery", get(
			"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
			"/version", "/version/")),
		newRole("system:monitoring",
			get("/flagz", "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz",
				"/readyz/*", "/statusz"),
			may([]string{"get"}, core, "nodes/metrics")),
		// What users may learn about themselves.
		newRole("system:basic-user",
			may(create, authorization, "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
			may(create, authentication, "selfsubjectreviews")),
		// What everybody may know, even without a credential.
		newRole("system:public-info-viewer", get("/healthz", "/livez", "/readyz", "/version", "/version/")),
		// For servers that let this one authenticate and authorize their users.
		newRole("system:auth-delegator",
			may(create, authentication, "tokenreviews"), may(create, authorization, "subjectaccessreviews")),
		// The keys that verify tokens of service accounts.
		newRole("system:service-account-issuer-discovery",
			get("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks",
				"/openid/v1/jwks/")),
	}, namespacedRoles(), controllerRoles())
}

// newRole returns a default role.
func newRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metadata(name), Rules: rules}
}

// labeled adds a label to a role, so that another role has its rules too.
func labeled(role *rbacv1.ClusterRole, to string) *rbacv1.ClusterRole {
	role.Labels[aggregateTo+to] = "true"
	return role
}

// metadata marks an object as a default that is reconciled at each start.
func metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

// namespacedMetadata is metadata for an object in a namespace.
func namespacedMetadata(namespace, name string) metav1.ObjectMeta {
	m := metadata(name)
	m.Namespace = namespace
	return m
}

// The verbs of rules.
var (
	anything  = []string{"*"}
	create    = []string{"create"}
	read      = []string{"get", "list", "watch"}
	write     = []string{"create", "delete", "deletecollection", "patch", "update"}
	readWrite = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)

// The groups of rules.
var (
	core           = []string{""}
	events         = []string{"", "events.k8s.io"}
	authentication = []string{"authentication.k8s.io"}
	authorization  = []string{"authorization.k8s.io"}
	rbacGroup      = []string{rbacv1.GroupName}
)

// may returns the rule that allows verbs on resources of some groups.
func may(verbs, groups []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources}
}

// get returns the rule that allows to get paths.
func get(paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: paths}
}
