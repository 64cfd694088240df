package openapi

import (
	"net/http"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Static makes the parts of documents that do not depend on CRDs.
type Static struct {
	// version is the version of the API in the titles of documents.
	version string

	documentV2    func() (*Document, error)
	documentV3    func() (*Document, error)
	documentScale func() (*Document, error)
	staticV3      map[string]func() (*Document, error)
}

// NewStatic returns the Static of a server version. Documents are computed on demand.
func NewStatic(version string) *Static {
	if version == "" {
		version = "unversioned"
	}
	s := &Static{version: version}
	s.documentV2 = sync.OnceValues(s.newDocumentV2)
	s.documentV3 = sync.OnceValues(func() (*Document, error) { return newCustomDocumentV3(false) })
	s.documentScale = sync.OnceValues(func() (*Document, error) { return newCustomDocumentV3(true) })
	s.staticV3 = map[string]func() (*Document, error){}
	for path, operations := range staticDocuments() {
		s.staticV3[path] = sync.OnceValues(func() (*Document, error) { return s.newStaticDocumentV3(operations) })
	}
	return s
}

// V2 returns the document of version 2.
func (s *Static) V2() (*Document, error) { return s.documentV2() }

// V3 returns the document of a group and version of custom resources. scale says whether a section refers to the
// definitions of the scale subresource.
func (s *Static) V3(scale bool) (*Document, error) {
	if scale {
		return s.documentScale()
	}
	return s.documentV3()
}

// PathsV3 returns the paths of the static documents of version 3.
func (s *Static) PathsV3() []string {
	var paths []string
	for path := range s.staticV3 {
		paths = append(paths, path)
	}
	return paths
}

// DocumentV3 returns the static document of a path, which has no sections, or nil.
func (s *Static) DocumentV3(path string) (*Document, error) {
	document, ok := s.staticV3[path]
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

// staticDocuments returns the operations that do not come from CRDs, by the path of their document.
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

// metaOperation returns a GET of a description of the API.
func metaOperation(path, id, tag, description, writes string) *operation {
	op := &operation{
		method: http.MethodGet, path: path, id: id, description: description, tags: []string{tag},
		consumes: definitionResource.produces, produces: definitionResource.produces,
	}
	op.answers(http.StatusOK, writes)
	return op
}
