//lint:file-ignore SA1019 Endpoints are deprecated, and served

package serverendpoints

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func endpoints(port int, addresses ...string) *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"},
	}}
	if len(addresses) > 0 {
		e.Subsets = []corev1.EndpointSubset{{Ports: portOf(port)}}
	}
	for _, ip := range addresses {
		e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: ip})
	}
	return e
}

func described(e *corev1.Endpoints) string {
	text := e.Labels[discoveryv1.LabelSkipMirror]
	for _, subset := range e.Subsets {
		text += fmt.Sprint(" ", subset.Ports[0].Port)
		for _, address := range subset.Addresses {
			text += " " + address.IP
		}
	}
	return text
}

// TestCorrect checks when Endpoints change, and what becomes of them.
func TestCorrect(t *testing.T) {
	t.Parallel()
	unlabelled := endpoints(1, "a", "b")
	unlabelled.Labels = nil
	split := endpoints(1, "a")
	split.Subsets = append(split.Subsets, endpoints(1, "b").Subsets...)
	for n, test := range []struct {
		endpoints *corev1.Endpoints
		addresses []string
		keepPorts bool
		want      string
		changed   bool
	}{
		{endpoints(1, "a", "b"), []string{"a", "b"}, false, "true 1 a b", false},
		{endpoints(1, "b", "a"), []string{"a", "b"}, false, "true 1 b a", false},
		{endpoints(1, "a"), []string{"a", "b"}, false, "true 1 a b", true},
		{endpoints(1, "a", "b"), []string{"b"}, false, "true 1 b", true},
		{endpoints(2, "a", "b"), []string{"a", "b"}, false, "true 1 a b", true},
		{endpoints(2, "a", "b"), []string{"a", "b"}, true, "true 2 a b", false},
		{endpoints(2, "a"), []string{"a", "b"}, true, "true 2 a b", true},
		{endpoints(2, "a"), nil, false, "true", true},
		{endpoints(0), nil, false, "true", false},
		{endpoints(0), []string{"a"}, true, "true 1 a", true},
		{unlabelled, []string{"a", "b"}, false, "true 1 a b", true},
		{split, []string{"a", "b"}, false, "true 1 a b", true},
	} {
		changed := correct(test.endpoints, test.addresses, portOf(1), test.keepPorts)
		if got := described(test.endpoints); changed != test.changed || got != test.want {
			t.Errorf("%d: got %s, changed %v; want %s", n, got, changed, test.want)
		}
	}
}

// TestSliceOf checks the addresses of a slice, which has one family.
func TestSliceOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		addresses []string
		kind      discoveryv1.AddressType
		want      []string
	}{
		{nil, discoveryv1.AddressTypeIPv4, nil},
		{[]string{"192.0.2.1", "192.0.2.2"}, discoveryv1.AddressTypeIPv4, []string{"192.0.2.1", "192.0.2.2"}},
		{[]string{"2001:db8::1"}, discoveryv1.AddressTypeIPv6, []string{"2001:db8::1"}},
		{[]string{"192.0.2.1", "2001:db8::1"}, discoveryv1.AddressTypeIPv4, []string{"192.0.2.1"}},
	} {
		slice := sliceOf(endpoints(1, test.addresses...))
		var got []string
		for _, endpoint := range slice.Endpoints {
			got = append(got, endpoint.Addresses...)
		}
		if slice.AddressType != test.kind || !slices.Equal(got, test.want) {
			t.Errorf("%v: got %s %v", test.addresses, slice.AddressType, got)
		}
	}
}
