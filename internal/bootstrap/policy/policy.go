package policy

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crd-server/crd-server/internal/builtin/rbac"
)

// The bindings that were one before Kubernetes 1.14: a server that has only the first gives the second what it has.
const (
	Discovery        = "system:discovery"
	PublicInfoViewer = "system:public-info-viewer"
)

// Object is a default: a ClusterRole, a ClusterRoleBinding, a Role or a RoleBinding.
type Object interface {
	runtime.Object
	metav1.Object
}

// essential has the roles and bindings of every server. cluster has those that kube-apiserver has besides: of nodes, of
// components of a control plane, and of the controllers of Pods. A test of kube-apiserver writes the latter.
var (
	//go:embed essential.yaml
	essential []byte
	//go:embed cluster.yaml
	cluster []byte
)

// Decoding YAML is slow, so it happens once in a process.
var (
	ofEveryServer = sync.OnceValue(func() []Object { return decode(essential) })
	ofCluster     = sync.OnceValue(func() []Object { return decode(cluster) })
)

// Default returns the default roles and bindings: those of every server, and for one with all kinds of Kubernetes those
// of a cluster too. Roles that aggregate others have no rules. The caller owns the objects.
func Default(all bool) []Object {
	defaults := ofEveryServer()
	if all {
		defaults = slices.Concat(defaults, ofCluster())
	}
	objects := make([]Object, len(defaults))
	for n, obj := range defaults {
		objects[n] = obj.DeepCopyObject().(Object)
	}
	return objects
}

// decode reads manifests, and marks the objects as defaults that are reconciled at each start.
func decode(manifests []byte, options ...serializer.CodecFactoryOptionsMutator) (objects []Object) {
	scheme := runtime.NewScheme()
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, options...).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		utilruntime.Must(err)
		decoded, _, err := decoder.Decode(document, nil, nil)
		utilruntime.Must(err)
		obj := decoded.(Object)
		labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
		maps.Copy(labels, obj.GetLabels())
		obj.SetLabels(labels)
		obj.SetAnnotations(map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"})
		objects = append(objects, obj)
	}
}

// Aggregate gives ClusterRoles that aggregate others the rules that they are going to have, for a server that has no
// further roles. It returns the objects.
func Aggregate(objects []Object) []Object {
	var roles []*rbacv1.ClusterRole
	for _, obj := range objects {
		if role, ok := obj.(*rbacv1.ClusterRole); ok {
			roles = append(roles, role)
		}
	}
	for changed := true; changed; { // until roles that aggregate aggregated roles have their rules too
		changed = false
		for _, role := range roles {
			if role.AggregationRule == nil {
				continue
			}
			rules, err := rbac.AggregatedRules(role, roles)
			if err == nil && len(rules) != len(role.Rules) { // the selectors are ours, and rules are only added
				role.Rules, changed = rules, true
			}
		}
	}
	return objects
}
