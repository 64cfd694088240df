package crdhandler

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// instrumented wraps a verb in upstream's request metrics.
func instrumented(handle http.HandlerFunc, info *request.RequestInfo, deprecated bool) http.HandlerFunc {
	measured := metrics.InstrumentHandlerFunc(strings.ToUpper(info.Verb), info.APIGroup, info.APIVersion, info.Resource,
		info.Subresource, metrics.CleanScope(info), metrics.APIServerComponent, deprecated, "", handle)
	if info.Verb != "watch" && info.Verb != connectVerb {
		return measured
	}
	return func(w http.ResponseWriter, req *http.Request) {
		metrics.RecordLongRunning(req, info, metrics.APIServerComponent, func() { measured(w, req) })
	}
}
