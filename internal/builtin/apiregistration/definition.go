package apiregistration

import (
	"k8s.io/apimachinery/pkg/runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const (
	plural = "apiservices"
	// Folder has the APIServices in etcd.
	Folder = apiregistrationv1.GroupName + "/" + plural
)

// Definition returns the definition of APIServices.
func Definition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: apiregistrationv1.SchemeGroupVersion, Kind: "APIService", Plural: plural, Singular: "apiservice",
		Categories: []string{"api-extensions"},
		Object:     &apiregistrationv1.APIService{}, List: &apiregistrationv1.APIServiceList{},
		Verbs:   []string{"get", "list", "watch"},
		Columns: &resource.Columns{Definitions: columns, Cells: cells},
		Folder:  Folder,
	}
}

var columns = []metav1.TableColumnDefinition{
	resource.NameColumn,
	{Name: "Service", Type: "string", Description: "The reference to the service that hosts this API endpoint."},
	{Name: "Available", Type: "string", Description: "Whether this service is available."},
	resource.AgeColumn,
}

func cells(obj runtime.Object) []any {
	service := obj.(*apiregistrationv1.APIService)
	host := "Local"
	if reference := service.Spec.Service; reference != nil {
		host = reference.Namespace + "/" + reference.Name
	}
	available := string(apiregistrationv1.ConditionUnknown)
	if c := helper.GetAPIServiceConditionByType(service, apiregistrationv1.Available); c != nil {
		available = string(c.Status)
		if c.Status != apiregistrationv1.ConditionTrue && c.Reason != "" {
			available += " (" + c.Reason + ")"
		}
	}
	return []any{service.Name, host, available, resource.Age(service)}
}
