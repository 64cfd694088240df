package crdhandler

import (
	"context"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/connect"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
)

// connectVerb stands for the verb of a request to connect, in metrics.
const connectVerb = "connect"

// endpointConnect is the endpoint of connections to objects.
type endpointConnect struct {
	*resource.Connect
	// all are the endpoints of built-in resources.
	all map[schema.GroupVersionResource]*builtinEndpoints
}

// connectScope makes s the endpoint of connections to objects of d. The objects that admission sees are the options.
func (s *requestScope) connectScope(d *resource.Definition, sub *resource.Subresource) {
	s.connect = &endpointConnect{Connect: sub.Connect}
	s.Kind, s.columns = sub.GroupVersionKind(d), nil
}

// connectTo answers a request to connect to an object.
func (s *requestScope) connectTo(w http.ResponseWriter, req *http.Request) {
	s.err(s.refuseConnection(req), w, req)
}

// refuseConnection returns the error that answers a request to connect.
func (s *requestScope) refuseConnection(req *http.Request) error {
	ctx, query := req.Context(), req.URL.Query()
	if len(query["dryRun"]) > 0 {
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	info, _ := request.RequestInfoFrom(ctx)
	if s.connect.Proxies {
		query["path"] = []string{proxiedPath(info)}
	}
	options, err := connect.Decode(s.connect.Object, query)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	namespace, name := s.target(req)
	a := s.Admission(ctx, write.Target{Namespace: namespace, Name: name})
	event := write.Event{Operation: admission.Connect, Obj: options}
	if err := a.Admit(ctx, event); err != nil {
		return err
	}
	if err := a.Validate(ctx, event); err != nil {
		return err
	}
	if !s.connect.Proxies && info.Verb != "create" {
		if err := authorizeConnection(ctx, a); err != nil {
			return err
		}
	}
	return connect.Refuse(ctx, connect.Request{
		Namespace: namespace, Name: name, Options: options,
		Upgrades: httpstream.IsUpgradeRequest(req), Read: s.connect.read,
	})
}

// proxiedPath returns the path after the subresource.
func proxiedPath(info *request.RequestInfo) string {
	path := ""
	if rest := info.Parts[3:]; len(rest) > 0 { // after the resource, the name and the subresource
		path = "/" + strings.TrimPrefix(strings.Join(rest, "/"), "/")
	}
	if strings.HasSuffix(info.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path
}

// creating has the attributes of a request, as if it created something.
type creating struct{ authorizer.Attributes }

// GetVerb implements authorizer.Attributes.
func (creating) GetVerb() string { return "create" }

// authorizeConnection decides whether the user of a request may create at the endpoint, as POST does.
func authorizeConnection(ctx context.Context, a *write.Admission) error {
	if a.Policy.Authorizer == nil {
		return nil
	}
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	decision, reason, err := a.Policy.Authorizer.Authorize(ctx, creating{attributes})
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return err
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errors.New(reason))
}

// read returns an object of core/v1.
func (c *endpointConnect) read(ctx context.Context, plural, namespace, name string) (runtime.Object, error) {
	endpoints := c.all[schema.GroupVersionResource{Version: "v1", Resource: plural}]
	if endpoints == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: plural}, name)
	}
	object := actionObject{scope: endpoints.main, namespace: namespace, name: name}
	return object.Read(ctx)
}
