package allocator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/network"
)

// normalizeIPs makes the fields for one and for both addresses agree, for clients that only know one of them. What it
// cannot guess is left to the validation.
func (r *request) normalizeIPs() {
	after, before := &r.service.Spec, &r.old.Spec
	isSame := slices.Equal(after.ClusterIPs, before.ClusterIPs)
	switch {
	case !r.updates:
		if after.ClusterIP != "" && len(after.ClusterIPs) == 0 {
			after.ClusterIPs = []string{after.ClusterIP}
		}
	case after.ClusterIP == before.ClusterIP:
		if len(after.ClusterIPs) == 0 {
			after.ClusterIPs = slices.Clone(before.ClusterIPs)
		}
	case isSame && after.ClusterIP == "":
		after.ClusterIPs = nil
	case isSame:
		after.ClusterIPs = []string{after.ClusterIP}
	}
}

// keepIPs restores the addresses that an update leaves out, so that the manifest that created a Service can be sent
// again.
func (r *request) keepIPs() {
	if !network.NeedsClusterIP(r.old) || !network.NeedsClusterIP(r.service) {
		return
	}
	after, before := &r.service.Spec, &r.old.Spec
	if after.ClusterIP == "" {
		after.ClusterIP = before.ClusterIP
	}
	if len(after.ClusterIPs) == 0 {
		after.ClusterIPs = slices.Clone(before.ClusterIPs)
	}
}

// setIPs takes the addresses of a Service.
func (r *request) setIPs(ctx context.Context) error {
	after, before := &r.service.Spec, &r.old.Spec
	needs, needed := network.NeedsClusterIP(r.service), network.NeedsClusterIP(r.old)
	switch {
	case r.keepsPreferred():
		return nil
	case !r.updates, !needed && needs:
		return r.takeIPs(ctx, 0)
	case network.IsHeadless(r.old):
		return nil
	case needed && !needs:
		r.releases = before.ClusterIPs
	case len(before.IPFamilies) == 1 && len(after.IPFamilies) == 2:
		return r.takeIPs(ctx, 1)
	case len(before.IPFamilies) == 2 && len(after.IPFamilies) == 1:
		r.releases = before.ClusterIPs[1:]
	}
	return nil
}

// takeIPs takes the addresses of the families from an index on, and sets those that the Service does not name.
func (r *request) takeIPs(ctx context.Context, from int) error {
	spec := &r.service.Spec
	if !network.NeedsClusterIP(r.service) || network.IsHeadless(r.service) {
		return nil
	}
	for n := from; n < len(spec.IPFamilies); n++ {
		if n == len(spec.ClusterIPs) {
			spec.ClusterIPs = append(spec.ClusterIPs, "")
		}
		if err := r.takeIP(ctx, n); err != nil {
			return err
		}
	}
	spec.ClusterIP = spec.ClusterIPs[0]
	return nil
}

func (r *request) takeIP(ctx context.Context, n int) error {
	spec := &r.service.Spec
	ips, wanted := r.ranges[spec.IPFamilies[n]], spec.ClusterIPs[n]
	refuse := func(message string) error {
		return r.invalid(field.ErrorList{field.Invalid(clusterIPsPath, spec.ClusterIPs, message)})
	}
	if wanted != "" {
		if err := r.namedIP(ctx, ips, wanted); err != nil {
			return refuse(fmt.Sprintf("failed to allocate IP %v: %v", wanted, err))
		}
		return nil
	}
	address, err := r.nextIP(ctx, ips)
	switch {
	case errors.Is(err, errFull):
		err = fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", r.service.Name, err)
		return apierrors.NewInternalError(err)
	case err != nil:
		return refuse(fmt.Sprintf("failed to allocate IP: %v", err))
	}
	spec.ClusterIPs[n] = address.String()
	return nil
}

// nextIP takes a free address. In a dry run it returns the address of the network, as kube-apiserver does.
func (r *request) nextIP(ctx context.Context, ips *ipRange) (netip.Addr, error) {
	if r.dryRun {
		return ips.prefix.Masked().Addr(), nil
	}
	address, err := r.addresses.takeNext(ctx, ips, r.service)
	if err == nil {
		r.taken = append(r.taken, address.String())
	}
	return address, err
}

// namedIP takes the address that a Service names.
func (r *request) namedIP(ctx context.Context, ips *ipRange, wanted string) error {
	address, err := netip.ParseAddr(wanted)
	if err != nil {
		return err
	}
	if address.Less(ips.first) || ips.last.Less(address) {
		return errForeign
	}
	if r.dryRun {
		return nil
	}
	if err := r.addresses.take(ctx, address, r.service); err != nil {
		return err
	}
	r.taken = append(r.taken, wanted)
	return nil
}

// addressesOf returns the addresses that a Service has taken.
func addressesOf(service *corev1.Service) []string {
	if !network.NeedsClusterIP(service) || network.IsHeadless(service) {
		return nil
	}
	return service.Spec.ClusterIPs
}
