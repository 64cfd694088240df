// Package crdservertest gives each test a server of the Kubernetes API of its own:
//
//	func TestReconcile(t *testing.T) {
//		t.Parallel()
//		config, _ := crdservertest.Start(t, crdservertest.WithCRDPaths("config/crd/bases"))
//		client, err := client.New(config, client.Options{})
//		...
//	}
//
// Start returns when the server is ready, mostly in less than 50 ms. The server stops with the test, and leaves no
// goroutine, no port and no file. Tests that run in parallel see nothing of each other. So there is no environment to
// share, to start in TestMain, or to clean up by hand.
//
// By default the server runs in the process of the test and keeps everything in memory; see package crdserver. It has
// the built-in resources of the tier Essential; WithBuiltinResources(crdserver.All) is for controllers of Pods,
// Deployments, Nodes and so on. WithBinary runs it as a process instead, which keeps the code of the server out of the
// test's coverage, profile and race detector.
//
// If a test fails, the last lines of the server's log are in the test's log. Otherwise they are discarded, unless
// WithLog is given.
package crdservertest
