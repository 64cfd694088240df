package main

// packages are the test packages, as folders below test/integration of Kubernetes.
var packages = []string{
	"apimachinery",
	"apimachinery/apply",
	"apiserver",
	"apiserver/admissionwebhook",
	"apiserver/anonymous",
	"apiserver/apidefinitions",
	"apiserver/apply",
	"apiserver/cel",
	"apiserver/cel/authorizerselector/selectorenabled",
	"apiserver/certreload",
	"apiserver/discovery",
	"apiserver/oidc",
	"apiserver/openapi",
	"apiserver/tracing",
	"auth",
	"certificates",
	"controlplane",
	"controlplane/audit",
	"controlplane/transformation",
	"dryrun",
	"etcd",
	"events",
	"garbagecollector",
	"namespace",
	"quota",
	"serviceaccount",
	"storageversionmigrator",
}

// serial are the packages whose tests listen on sockets of the same name.
var serial = []string{"apiserver/tracing", "controlplane/transformation"}
