//lint:file-ignore SA1019 Endpoints are deprecated, and served

package serverendpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// folder has a key for each server, named by its address, that ends with an etcd lease.
const folder = "masterleases"

// interval is the time between renewals of the key of this server, and leaseTime how long it stays without one. The
// values are kube-apiserver's.
const (
	interval  = 10 * time.Second
	leaseTime = 15 * time.Second
)

// Leases are the addresses of the servers on one etcd.
type Leases struct {
	Client *clientv3.Client
	// Prefix is that of all keys of the servers, without a slash at the end.
	Prefix string
}

func (l *Leases) key(address string) string { return l.Prefix + "/" + folder + "/" + address }

// renew makes the others see this server for the lease time.
func (l *Leases) renew(ctx context.Context, address string) error {
	value, err := json.Marshal(&corev1.Endpoints{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Endpoints"},
		Subsets:  []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: address}}}},
	})
	if err != nil {
		return err
	}
	lease, err := l.Client.Grant(ctx, int64(leaseTime/time.Second))
	if err != nil {
		return fmt.Errorf("lease of the address of the server: %w", err)
	}
	if _, err := l.Client.Put(ctx, l.key(address), string(value), clientv3.WithLease(lease.ID)); err != nil {
		return fmt.Errorf("store the address of the server: %w", err)
	}
	return nil
}

// remove makes the others forget this server.
func (l *Leases) remove(ctx context.Context, address string) error {
	if _, err := l.Client.Delete(ctx, l.key(address)); err != nil {
		return fmt.Errorf("remove the address of the server: %w", err)
	}
	return nil
}

// list returns the addresses, sorted.
func (l *Leases) list(ctx context.Context) (addresses []string, err error) {
	found, err := l.Client.Get(ctx, l.key(""), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("list the addresses of servers: %w", err)
	}
	for _, kv := range found.Kvs {
		addresses = append(addresses, strings.TrimPrefix(string(kv.Key), l.key("")))
	}
	slices.Sort(addresses)
	return addresses, nil
}
