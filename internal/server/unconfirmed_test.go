package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// losingKV loses the answers to transactions on keys that end with "doubtful".
type losingKV struct{ clientv3.KV }

func (kv losingKV) Txn(ctx context.Context) clientv3.Txn { return &losingTxn{Txn: kv.KV.Txn(ctx)} }

type losingTxn struct {
	clientv3.Txn
	loses bool
}

func (t *losingTxn) If(compares ...clientv3.Cmp) clientv3.Txn {
	t.Txn = t.Txn.If(compares...)
	return t
}
func (t *losingTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *losingTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn, t.loses = t.Txn.Then(ops...), bytes.HasSuffix(ops[0].KeyBytes(), []byte("doubtful"))
	return t
}

func (t *losingTxn) Commit() (*clientv3.TxnResponse, error) {
	answer, err := t.Txn.Commit()
	if t.loses && err == nil {
		return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
	}
	return answer, err
}

// TestUnconfirmedServices checks that a Service keeps its address and its node port although its creation or its last
// update was answered with an error, and that both are free after such a deletion.
func TestUnconfirmedServices(t *testing.T) {
	t.Parallel()
	composer := func(c *components) (*resourceServer, error) {
		client := c.storage.etcd.Client
		client.KV = losingKV{client.KV}
		return compose(c)
	}
	root := launchComposed(t, composer, func(o *Options) {
		if err := o.Parse([]string{"--data-dir", o.DataDir, "--secure-port", "0", "--builtin-resources=all"}); err != nil {
			t.Fatal(err)
		}
	}).root()
	other := func(port int32, fields string) string {
		return strings.Replace(serviceJSON("other", `,"type":"NodePort"`+fields),
			`"port":80`, fmt.Sprintf(`"port":80,"nodePort":%d`, port), 1)
	}
	clusterIP := func(ip string) string { return fmt.Sprintf(`,"clusterIP":%q`, ip) }
	const path = servicesPath + "/doubtful"
	root.must(504, "POST", servicesPath, serviceJSON("doubtful", ""))
	spec := root.must(200, "GET", path, "").service(t).Spec
	if ips := root.addresses(); ips["doubtful"] != spec.ClusterIP {
		t.Errorf("IPAddresses %v, cluster IP %q", ips, spec.ClusterIP)
	}
	root.must(422, "POST", servicesPath, other(30100, clusterIP(spec.ClusterIP)))
	root.must(504, "PATCH", path, `{"spec":{"type":"NodePort"}}`, "Content-Type", "application/merge-patch+json")
	spec = root.must(200, "GET", path, "").service(t).Spec
	root.must(422, "POST", servicesPath, other(spec.Ports[0].NodePort, ""))
	root.must(504, "DELETE", path, "")
	root.must(201, "POST", servicesPath, other(spec.Ports[0].NodePort, clusterIP(spec.ClusterIP)))
}
