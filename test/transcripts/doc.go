// Package transcripts checks whole responses against readable files: testdata/*.txt have requests and the expected
// responses, one topic a file.
//
// Begin with a file such as testdata/create.txt, then read transcript_test.go for the format. The files in testdata are
// played against one server process, each on its own custom resources. Those in testdata/refused, which have requests
// that must be refused, have a server process each. Those in testdata/builtin are on built-in resources; their
// responses are kube-apiserver's (test/controlplane), and so are those in testdata/admission, on webhooks and policies,
// those in testdata/all, on the resources that --builtin-resources=all adds, and those in testdata/quotas, on quotas
// for them. Those in testdata/defaults change what all objects get, and have a server process each. In those in
// testdata/accounts, pods need service accounts.
//
//	go test .                                      # play the files against ../../bin/crd-server
//	go test . -update                              # and write its responses to exchanges marked @ours or @differs
//	go test . -run Differential -upstream          # play them on upstream's server too, and print the differences
//	go test . -run Differential -upstream -update  # and write upstream's responses into the files
//
// The last two also play random sequences on both servers in lockstep; -seed repeats a run, -steps sets its length.
// Read lockstep_test.go. TestWritten (written_test.go) plays random writes against crd-server alone:
//
//	go test . -run Written -definitions DIR        # for the CRDs in a folder
//
// Upstream is k8s.io/apiextensions-apiserver, built from the command in ../upstream; the tests do not import it. The
// expectations in the files are upstream's responses, except for the exchanges marked @ours or @differs, which
// docs/conformance.md explains.
package transcripts
