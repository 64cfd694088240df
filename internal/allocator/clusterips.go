package allocator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

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
	switch {
	case r.keepsPreferred():
		return nil
	case !r.updates, !network.NeedsClusterIP(r.old) && network.NeedsClusterIP(r.service):
		return r.takeIPs(ctx, 0)
	case network.IsHeadless(r.old):
		return nil
	case len(before.IPFamilies) == 1 && len(after.IPFamilies) == 2:
		return r.takeIPs(ctx, 1)
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
	if wanted != "" {
		err := r.namedIP(ctx, ips, wanted)
		if isRefusal(err) {
			message := fmt.Sprintf("failed to allocate IP %v: %v", wanted, err)
			return r.invalid(field.ErrorList{field.Invalid(clusterIPsPath, spec.ClusterIPs, message)})
		}
		return err
	}
	address, err := r.nextIP(ctx, ips)
	if isRefusal(err) {
		err = fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", r.service.Name, err)
		return apierrors.NewInternalError(err)
	}
	spec.ClusterIPs[n] = address.String()
	return err
}

// nextIP takes a free address. In a dry run it returns the address of the network, as kube-apiserver does.
func (r *request) nextIP(ctx context.Context, ips *ipRange) (netip.Addr, error) {
	if r.dryRun {
		return ips.at(0), nil
	}
	itemOf := func(number uint64) item { return item{r.addresses, ips.at(number).String()} }
	number, err := r.takeNext(ctx, itemOf, candidates(1, ips.dynamic, ips.last))
	return ips.at(number), err
}

// namedIP takes the address that a Service names.
func (r *request) namedIP(ctx context.Context, ips *ipRange, wanted string) error {
	address, err := netip.ParseAddr(wanted)
	if err != nil || !ips.has(address) {
		return errForeign
	}
	if r.dryRun {
		return nil
	}
	return r.take(ctx, item{r.addresses, address.String()})
}
