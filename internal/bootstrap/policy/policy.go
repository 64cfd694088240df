package policy

import (
	_ "embed"
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/crd-server/crd-server/internal/builtin/rbac/aggregation"
)

// Policy is the default roles and bindings of a server.
type Policy struct {
	// ClusterRoles that aggregate others have no rules, unless Aggregate has been called.
	ClusterRoles []*rbacv1.ClusterRole `json:"clusterRoles"`
	// ClusterRoleBindings have the names of their roles.
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
	Roles               []*rbacv1.Role               `json:"roles"`
	RoleBindings        []*rbacv1.RoleBinding        `json:"roleBindings"`
}

// clusterJSON has the roles and bindings that kube-apiserver has besides those of every server: of nodes, of components
// of a control plane, and of the controllers of Pods. A test of kube-apiserver writes them.
//
//go:embed cluster.json
var clusterJSON []byte

// Default returns the default roles and bindings: those of every server, and for one with all kinds of Kubernetes those
// of a cluster too. The caller owns them.
func Default(cluster bool) *Policy {
	p := &Policy{
		ClusterRoles: clusterRoles(), ClusterRoleBindings: clusterRoleBindings(),
		Roles: []*rbacv1.Role{authenticationReader()}, RoleBindings: []*rbacv1.RoleBinding{authenticationReaders()},
	}
	if cluster {
		p.add(ofCluster())
	}
	return p
}

// ofCluster returns the roles and bindings of a cluster.
func ofCluster() *Policy {
	p := &Policy{}
	utilruntime.Must(json.Unmarshal(clusterJSON, p))
	for _, role := range p.ClusterRoles {
		role.ObjectMeta = metadata(role.Name)
	}
	for _, binding := range p.ClusterRoleBindings {
		binding.ObjectMeta = metadata(binding.Name)
	}
	for _, role := range p.Roles {
		role.ObjectMeta = namespacedMetadata(role.Namespace, role.Name)
	}
	for _, binding := range p.RoleBindings {
		binding.ObjectMeta = namespacedMetadata(binding.Namespace, binding.Name)
	}
	return p
}

func (p *Policy) add(other *Policy) {
	p.ClusterRoles = append(p.ClusterRoles, other.ClusterRoles...)
	p.ClusterRoleBindings = append(p.ClusterRoleBindings, other.ClusterRoleBindings...)
	p.Roles = append(p.Roles, other.Roles...)
	p.RoleBindings = append(p.RoleBindings, other.RoleBindings...)
}

// Aggregate gives ClusterRoles that aggregate others the rules that they are going to have, for a server that has no
// further roles. It returns p.
func (p *Policy) Aggregate() *Policy {
	for changed := true; changed; { // until roles that aggregate aggregated roles have their rules too
		changed = false
		for _, role := range p.ClusterRoles {
			if role.AggregationRule == nil {
				continue
			}
			rules, err := aggregation.Rules(role, p.ClusterRoles)
			if err == nil && len(rules) != len(role.Rules) { // the selectors are ours, and rules are only added
				role.Rules, changed = rules, true
			}
		}
	}
	return p
}
