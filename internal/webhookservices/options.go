package webhookservices

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/util/webhook"
)

// flag is the name of the flag, for errors.
const flag = "--service-resolution"

// Options says where services are.
type Options struct {
	// Rules are NAMESPACE/NAME[:PORT]=https://HOST:PORT, where "*" stands for every namespace, name or port, or
	// NAMESPACE/NAME[:PORT]=dns for the name of the service in the DNS of a cluster. The first rule that matches counts.
	Rules []string
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&o.Rules, flag[2:], o.Rules,
		"Address of the services that webhooks name in clientConfig.service, as `NAMESPACE/NAME[:PORT]=https://HOST:PORT`; "+
			"* matches any, and =dns looks up NAME.NAMESPACE.svc. The certificate must be for NAME.NAMESPACE.svc. May be "+
			"repeated; "+
			"the first match counts. Default: */*=dns with a host cluster, else none.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	_, errs = o.parse()
	return errs
}

// Resolver returns the resolver of valid rules. inCluster says that services without a rule are looked up in the DNS of
// a cluster.
func (o *Options) Resolver(inCluster bool) webhook.ServiceResolver {
	r := &resolver{dns: webhook.NewDefaultServiceResolver()}
	r.rules, _ = o.parse()
	if inCluster {
		r.rules = append(r.rules, rule{namespace: wildcard, name: wildcard})
	}
	return r
}

func (o *Options) parse() (rules []rule, errs []error) {
	for _, text := range o.Rules {
		if parsed, err := parseRule(text); err != nil {
			errs = append(errs, err)
		} else {
			rules = append(rules, parsed)
		}
	}
	return rules, errs
}

const (
	wildcard = "*"
	dns      = "dns"
)

// rule says where some services are.
type rule struct {
	namespace, name string
	port            int32 // 0: any
	// address of the services; nil: as the DNS says.
	address *url.URL
}

// parseRule parses a rule. Its error names the flag.
func parseRule(text string) (rule, error) {
	fail := func(format string, args ...any) (rule, error) {
		return rule{}, fmt.Errorf("%s %s: %s", flag, text, fmt.Sprintf(format, args...))
	}
	service, address, ok := strings.Cut(text, "=")
	namespace, name, qualified := strings.Cut(service, "/")
	if !ok || !qualified {
		return fail("must be NAMESPACE/NAME[:PORT]=https://HOST:PORT")
	}
	name, port, hasPort := strings.Cut(name, ":")
	r := rule{namespace: namespace, name: name}
	for _, part := range []string{namespace, name} {
		if part != wildcard && len(validation.IsDNS1123Label(part)) > 0 {
			return fail("%q is neither * nor the name of a namespace or service", part)
		}
	}
	if hasPort && port != wildcard {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return fail("%q is neither * nor a port", port)
		}
		r.port = int32(number)
	}
	if address == dns {
		return r, nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" ||
		*parsed != (url.URL{Scheme: "https", Host: parsed.Host}) {
		return fail("%q is neither dns nor of the form https://HOST:PORT", address)
	}
	if parsed.Port() == "" {
		parsed.Host = net.JoinHostPort(parsed.Hostname(), "443")
	}
	r.address = parsed
	return r, nil
}
