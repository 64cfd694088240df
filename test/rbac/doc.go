// Package rbac compares what roles and bindings allow on crd-server with what the same objects allow on kube-apiserver.
//
// Begin with defaults_test.go: the default roles, and the verdict for each role, verb and resource. random_test.go does
// the same for random roles, bindings and requests, which world_test.go makes, and changes them between requests.
//
//	go test .                                # compare crd-server with the answers of kube-apiserver in testdata
//	go test . -run Differential -upstream    # ask kube-apiserver too; -seed repeats a run, -size sets its size
//	go test . -run Differential -upstream -update    # renew testdata
package rbac
