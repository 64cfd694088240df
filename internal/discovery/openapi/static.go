package openapi

import (
	"net/http"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Static is what documents say whatever CRDs there are.
type Static struct {
	// version is that of the API, in the titles of documents.
	version string

	frameV2     func() (*Frame, error)
	frameV3     func() (*Frame, error)
	frameScale  func() (*Frame, error)
	documentsV3 map[string]func() (*Frame, error)
}

// NewStatic returns what is static in the documents of a server of that version. Nothing is computed before it is
// asked for.
func NewStatic(version string) *Static {
	if version == "" {
		version = "unversioned"
	}
	s := &Static{version: version}
	s.frameV2 = sync.OnceValues(s.newFrameV2)
	s.frameV3 = sync.OnceValues(func() (*Frame, error) { return newCustomFrameV3(false) })
	s.frameScale = sync.OnceValues(func() (*Frame, error) { return newCustomFrameV3(true) })
	s.documentsV3 = map[string]func() (*Frame, error){}
	for path, operations := range staticDocuments() {
		s.documentsV3[path] = sync.OnceValues(func() (*Frame, error) { return s.newStaticFrameV3(operations) })
	}
	return s
}

// V2 is the frame of the document of version 2.
func (s *Static) V2() (*Frame, error) { return s.frameV2() }

// V3 is the frame of the document of a group and version of custom resources; scale: one of its parts refers to
// the definitions of that subresource.
func (s *Static) V3(scale bool) (*Frame, error) {
	if scale {
		return s.frameScale()
	}
	return s.frameV3()
}

// PathsV3 lists the static documents of version 3.
func (s *Static) PathsV3() []string {
	var paths []string
	for path := range s.documentsV3 {
		paths = append(paths, path)
	}
	return paths
}

// DocumentV3 returns the static document of that path, which takes no parts; nil if there is none.
func (s *Static) DocumentV3(path string) (*Frame, error) {
	document, ok := s.documentsV3[path]
	if !ok {
		return nil, nil
	}
	return document()
}

var definitionResource = &resource{
	group: apiextensionsv1.GroupName, version: apiextensionsv1.SchemeGroupVersion.Version, plural: "customresourcedefinitions",
	kind: "CustomResourceDefinition", listKind: "CustomResourceDefinitionList",
	object: definitionKindName, list: definitionListName,
	status: true, builtin: true,
	produces: []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf},
	streams:  []string{runtime.ContentTypeJSON + ";stream=watch", runtime.ContentTypeProtobuf + ";stream=watch"},
	patches: []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType),
		string(types.ApplyYAMLPatchType)},
}

// staticDocuments lists the operations that do not come from CRDs, by the path of their document.
func staticDocuments() map[string][]*operation {
	r := definitionResource
	group := "apis/" + r.group
	watchRoot := "/" + group + "/" + r.version + "/watch/" + r.plural
	list := target{resource: r, path: watchRoot, object: watchEventName}
	one := target{resource: r, path: watchRoot + "/{name}", object: watchEventName}
	definitions := append(r.operations(),
		list.watch(r.kind+"List", "watchlist", "watch individual changes to a list of "+r.kind+
			". deprecated: use the 'watch' parameter with a list operation instead."),
		one.watch(r.kind, "watch", "watch changes to an object of kind "+r.kind+
			". deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."),
		metaOperation("/"+group+"/"+r.version+"/", operationID("get", r, "APIResources"), tag(r.group, r.version),
			"get available resources", apiResourceListName))
	inGroup := &resource{group: r.group}
	version := metaOperation("/version/", "getCodeVersion", "version", "get the version information for this server", versionInfoName)
	version.consumes, version.produces = []string{runtime.ContentTypeJSON}, []string{runtime.ContentTypeJSON}
	return map[string][]*operation{
		group + "/" + r.version: definitions,
		group: {metaOperation("/"+group+"/", operationID("get", inGroup, "APIGroup"), tag(r.group, ""),
			"get information of a group", apiGroupName)},
		"apis":    {metaOperation("/apis/", "getAPIVersions", "apis", "get available API versions", apiGroupListName)},
		"version": {version},
	}
}

// metaOperation describes a GET that is about the API itself.
func metaOperation(path, id, tag, description, writes string) *operation {
	op := &operation{
		method: http.MethodGet, path: path, id: id, description: description, tags: []string{tag},
		consumes: definitionResource.produces, produces: definitionResource.produces,
	}
	op.answers(http.StatusOK, writes)
	return op
}
