package reviews

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
)

// Authorizer decides about requests, and lists its rules.
type Authorizer interface {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// Config is what reviews are answered by.
type Config struct {
	Authorizer Authorizer
	Tokens     Tokens
	// Delegate gets all other requests.
	Delegate http.Handler
}

// New returns the handler of reviews below /apis.
func New(config Config) http.Handler {
	return &handler{decides: config.Authorizer, tokens: config.Tokens, delegate: config.Delegate}
}

type handler struct {
	decides  Authorizer
	tokens   Tokens
	delegate http.Handler
}

// review is one kind of review.
type review struct {
	namespaced bool
	// empty returns the object to decode the body into.
	empty func() runtime.Object
	// answer returns the object with its status.
	answer func(h *handler, ctx context.Context, caller user.Info, obj runtime.Object) (runtime.Object, error)
}

// all has the kinds of reviews by resource.
var all = map[schema.GroupVersionResource]*review{
	authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews"): {
		empty: func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }, answer: (*handler).self,
	},
	authenticationv1.SchemeGroupVersion.WithResource("tokenreviews"): {
		empty: func() runtime.Object { return &authenticationv1.TokenReview{} }, answer: (*handler).token,
	},
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"): {
		empty: func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }, answer: (*handler).selfAccess,
	},
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectrulesreviews"): {
		empty: func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }, answer: (*handler).selfRules,
	},
	authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"): {
		empty: func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }, answer: (*handler).access,
	},
	authorizationv1.SchemeGroupVersion.WithResource("localsubjectaccessreviews"): {
		namespaced: true,
		empty:      func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} },
		answer:     (*handler).localAccess,
	},
}

// Serves reports whether a request is for a kind of review.
func Serves(info *request.RequestInfo) bool {
	return all[resourceOf(info)] != nil && info.Subresource == ""
}

func resourceOf(info *request.RequestInfo) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest {
		h.delegate.ServeHTTP(w, req)
		return
	}
	gvr := resourceOf(info)
	kind := all[gvr]
	if kind == nil || info.Name != "" || kind.namespaced != (info.Namespace != "") {
		h.delegate.ServeHTTP(w, req)
		return
	}
	answered, err := h.serve(req, info, kind)
	if err != nil {
		budget.Report(req.Context(), err)
		responsewriters.ErrorNegotiated(err, codecs, gvr.GroupVersion(), w, req)
		return
	}
	responsewriters.WriteObjectNegotiated(codecs, negotiation.DefaultEndpointRestrictions, gvr.GroupVersion(), w, req,
		http.StatusCreated, answered, false)
}

func (h *handler) serve(req *http.Request, info *request.RequestInfo, kind *review) (runtime.Object, error) {
	if req.Method != http.MethodPost {
		return nil, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method, schema.GroupResource{}, "",
			"", 0, false)
	}
	ctx := req.Context()
	caller, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	if _, _, err := negotiation.NegotiateOutputMediaType(req, codecs,
		negotiation.DefaultEndpointRestrictions); err != nil {
		return nil, err
	}
	if err := checkOptions(req); err != nil {
		return nil, err
	}
	obj, err := decode(req, kind.empty())
	if err != nil {
		return nil, err
	}
	gvr := resourceOf(info)
	audit.LogRequestObject(ctx, obj, gvr.GroupVersion(), gvr, "", codecs)
	if err := defaultMetadata(obj.(metav1.Object), info.Namespace); err != nil {
		return nil, err
	}
	return kind.answer(h, ctx, caller, obj)
}

// defaultMetadata clears the fields that only servers set, and sets the namespace of the request.
func defaultMetadata(meta metav1.Object, namespace string) error {
	meta.SetCreationTimestamp(metav1.Time{})
	meta.SetDeletionTimestamp(nil)
	meta.SetDeletionGracePeriodSeconds(nil)
	meta.SetUID("")
	meta.SetSelfLink("")
	switch sent := meta.GetNamespace(); {
	case sent == "" || namespace == "": // a namespace in the body of a review without one is ignored
		meta.SetNamespace(namespace)
	case sent != namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the " +
			"request")
	}
	return nil
}
