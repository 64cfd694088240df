package apiservices

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The labels of the APIServices of a Registrar, with the names that Kubernetes recommends: the manager and the
// Service. An APIService without both belongs to somebody else.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "crd-server"
	labelInstance  = "app.kubernetes.io/instance"
)

// The priorities of kube-apiserver for groups of its CRDs.
const (
	groupPriority   = 1000
	versionPriority = 100
)

// fieldManager is the field manager of all changes.
const fieldManager = "crd-server"

var (
	createOptions = metav1.CreateOptions{FieldManager: fieldManager}
	updateOptions = metav1.UpdateOptions{FieldManager: fieldManager}
)

// deleteOptions returns preconditions that only the APIService that was seen fulfils.
func deleteOptions(seen *apiregistrationv1.APIService) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &seen.UID,
		ResourceVersion: &seen.ResourceVersion}}
}

// instance distinguishes the APIServices of several crd-servers in one cluster.
func (r *Registrar) instance() string {
	return r.config.Service.Namespace + "." + r.config.Service.Name
}

// owns reports whether an APIService belongs to this installation.
func (r *Registrar) owns(found *apiregistrationv1.APIService) bool {
	return found.Labels[labelManagedBy] == managedBy && found.Labels[labelInstance] == r.instance()
}

// wanted returns the APIService of a group and version.
func (r *Registrar) wanted(version schema.GroupVersion) *apiregistrationv1.APIService {
	service := r.config.Service
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{
			Name:   nameOf(version),
			Labels: map[string]string{labelManagedBy: managedBy, labelInstance: r.instance()},
		},
		Spec: apiregistrationv1.APIServiceSpec{
			Service:              &service,
			Group:                version.Group,
			Version:              version.Version,
			CABundle:             r.config.CABundle(),
			GroupPriorityMinimum: groupPriority,
			VersionPriority:      versionPriority,
		},
	}
}
