package apiregistration

import (
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
		Columns: columns,
		Folder:  Folder,
	}
}

var columns = resource.Columns[*apiregistrationv1.APIService]{
	{Name: "Service", Cell: serviceCell, Doc: "The reference to the service that hosts this API endpoint."},
	{Name: "Available", Cell: availableCell, Doc: "Whether this service is available."},
	{Name: "Age"},
}

func serviceCell(service *apiregistrationv1.APIService) any {
	reference := service.Spec.Service
	if reference == nil {
		return "Local"
	}
	return reference.Namespace + "/" + reference.Name
}

func availableCell(service *apiregistrationv1.APIService) any {
	c := helper.GetAPIServiceConditionByType(service, apiregistrationv1.Available)
	switch {
	case c == nil:
		return string(apiregistrationv1.ConditionUnknown)
	case c.Status != apiregistrationv1.ConditionTrue && c.Reason != "":
		return string(c.Status) + " (" + c.Reason + ")"
	}
	return string(c.Status)
}
