package apiservices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// Options configures the registration of the served groups.
type Options struct {
	// Kubeconfig names the host cluster; without one nothing is registered.
	Kubeconfig string
	// Service gets the requests of the aggregator: namespace/name, or namespace/name:port.
	Service string
	// CAFile holds the authority of the certificate that is served under the Service's name. It is read again when it
	// changes.
	CAFile string
}

// AddFlags adds the flags of o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "aggregator-kubeconfig", o.Kubeconfig,
		"`File` (a kubeconfig) of the host cluster, which gets an APIService for every group and version that is served.")
	fs.StringVar(&o.Service, "aggregator-service", o.Service,
		"Service in the host cluster that leads to this server and its replicas: `namespace/name[:port]`.")
	fs.StringVar(&o.CAFile, "aggregator-ca-file", o.CAFile,
		"`File` with the authority of the certificate that is served under the name of --aggregator-service. Default: the "+
			"generated authority, or --tls-cert-file.")
}

// Validate returns every mistake.
func (o *Options) Validate() (errs []error) {
	if (o.Kubeconfig == "") != (o.Service == "") {
		errs = append(errs, errors.New("--aggregator-kubeconfig and --aggregator-service must be given together"))
	}
	if o.CAFile != "" && o.Kubeconfig == "" {
		errs = append(errs, errors.New("--aggregator-ca-file needs --aggregator-kubeconfig"))
	}
	if o.Service != "" {
		if _, err := o.reference(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// defaultPort is the aggregator's default of a missing port.
const defaultPort = 443

// reference returns the Service in the form of an APIService.
func (o *Options) reference() (apiregistrationv1.ServiceReference, error) {
	name, port, hasPort := strings.Cut(o.Service, ":")
	namespace, name, _ := strings.Cut(name, "/")
	wrong := fmt.Errorf("--aggregator-service must be of the form namespace/name or namespace/name:port, not %q",
		o.Service)
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return apiregistrationv1.ServiceReference{}, wrong
	}
	number := uint64(defaultPort)
	if hasPort {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return apiregistrationv1.ServiceReference{}, wrong
		}
	}
	return apiregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: new(int32(number))}, nil
}

// Connect sets Client and Service of a Config.
func (o *Options) Connect(c *Config) error {
	service, err := o.reference()
	if err != nil {
		return err
	}
	host, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("--aggregator-kubeconfig %s: %w", o.Kubeconfig, err)
	}
	client, err := clientset.NewForConfig(host)
	if err != nil {
		return fmt.Errorf("--aggregator-kubeconfig %s: %w", o.Kubeconfig, err)
	}
	c.Client, c.Service = client, service
	return nil
}
