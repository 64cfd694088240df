package webhookservices

import (
	"fmt"
	"net/url"

	"k8s.io/apiserver/pkg/util/webhook"
)

// resolver implements webhook.ServiceResolver by rules.
type resolver struct {
	rules []rule
	dns   webhook.ServiceResolver
}

// ResolveEndpoint returns the address of a service. The error says what to do about it, because the user of a webhook
// sees it.
func (r *resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	for _, rule := range r.rules {
		if !rule.matches(namespace, name, port) {
			continue
		}
		if rule.address != nil {
			return rule.address, nil
		}
		return r.dns.ResolveEndpoint(namespace, name, port)
	}
	return nil, fmt.Errorf("service %s/%s:%d has no address: start the server with %s %[1]s/%[2]s=https://HOST:PORT, "+
		"or set clientConfig.url instead of clientConfig.service", namespace, name, port, flag)
}

func (r *rule) matches(namespace, name string, port int32) bool {
	return (r.namespace == wildcard || r.namespace == namespace) && (r.name == wildcard || r.name == name) &&
		(r.port == 0 || r.port == port)
}
