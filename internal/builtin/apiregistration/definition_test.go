package apiregistration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	condition := func(status apiregistrationv1.ConditionStatus, reason string) apiregistrationv1.APIServiceStatus {
		return apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
			{Type: apiregistrationv1.Available, Status: status, Reason: reason},
		}}
	}
	remote := apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "ns", Name: "svc"}}
	for _, test := range []struct {
		service apiregistrationv1.APIService
		wanted  []any
	}{
		{apiregistrationv1.APIService{Status: condition("True", "Local")}, []any{"v1.a", "Local", "True", "<unknown>"}},
		{apiregistrationv1.APIService{Spec: remote, Status: condition("False", "Down")},
			[]any{"v1.a", "ns/svc", "False (Down)", "<unknown>"}},
		{apiregistrationv1.APIService{Spec: remote, Status: condition("False", "")},
			[]any{"v1.a", "ns/svc", "False", "<unknown>"}},
		{apiregistrationv1.APIService{}, []any{"v1.a", "Local", "Unknown", "<unknown>"}},
	} {
		test.service.ObjectMeta = metav1.ObjectMeta{Name: "v1.a"}
		table, err := Definition().Printer().ConvertToTable(context.Background(), &test.service, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.wanted, table.Rows[0].Cells); diff != "" {
			t.Errorf("cells (-wanted +printed):\n%s", diff)
		}
	}
}
