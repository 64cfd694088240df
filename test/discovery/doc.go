// Package discovery compares what kube-apiserver and crd-server with --builtin-resources=all say they serve: groups,
// versions, resources and their subresources in both forms of discovery, and all documents of OpenAPI.
//
//	go test .                                      # compare crd-server with testdata/kube-apiserver.txt
//	go test . -run Differential -upstream          # compare it with kube-apiserver, and print what differs in OpenAPI
//	go test . -run Differential -upstream -update  # and write kube-apiserver's answers into testdata
//
// Begin with discovery_test.go. intended_test.go lists the intended differences, describe_test.go makes the lines of a
// server, and openapi_test.go those of OpenAPI.
package discovery
