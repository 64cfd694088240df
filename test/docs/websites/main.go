// Command websites is the controller of docs/controllers.md: it writes the URL of every Website to its status.
package main

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Website has the fields of the resource that the controller needs.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Domain string `json:"domain"`
		TLS    struct {
			Enabled bool `json:"enabled"`
		} `json:"tls"`
	} `json:"spec"`
	Status struct {
		URL string `json:"url,omitempty"`
	} `json:"status,omitempty"`
}

// DeepCopyObject makes Website an object; controller-gen writes it for larger types.
func (w *Website) DeepCopyObject() runtime.Object {
	c := *w
	c.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &c
}

// WebsiteList is a list of them.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}

// DeepCopyObject makes WebsiteList an object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Website, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Website)
	}
	return &c
}

// reconciler writes the status of websites.
type reconciler struct{ client.Client }

// Reconcile is called for every Website that was created or changed, and for all of them after the start.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	website := &Website{}
	if err := r.Get(ctx, request.NamespacedName, website); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := website.DeepCopyObject().(*Website)
	protocol := "http"
	if website.Spec.TLS.Enabled {
		protocol = "https"
	}
	website.Status.URL = protocol + "://" + website.Spec.Domain
	if website.Status == before.Status {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Patch(ctx, website, client.MergeFrom(before))
}

func run() error {
	ctrl.SetLogger(zap.New())
	types := runtime.NewScheme()
	version := schema.GroupVersion{Group: "web.example.com", Version: "v1"}
	types.AddKnownTypes(version, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(types, version)
	config, err := ctrl.GetConfig() // the file that KUBECONFIG names
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  types,
		LeaderElection:          true, // of several replicas of the controller, one works
		LeaderElectionID:        "websites",
		LeaderElectionNamespace: "default",
		Metrics:                 server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&Website{}).Complete(&reconciler{manager.GetClient()}); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "websites:", err)
		os.Exit(1)
	}
}
