// Package escalation refuses writes of roles and bindings by which users would get, or give, rights that they do not
// have. Its plugins belong to the kinds of rbac.authorization.k8s.io. Begin with Check.
package escalation
