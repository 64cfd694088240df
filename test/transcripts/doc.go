// Package transcripts holds what a client sees of crd-server, as readable
// files: testdata/*.txt, one theme each, requests with the whole responses.
//
// Begin with a file in testdata, such as create.txt, then read
// transcript_test.go for its form. A run plays all files, each on custom
// resources of its own, against one server process:
//
//	go test .                                    # against ../../bin/crd-server
//	go test . -update                            # and write what it answers into the files
//	go test . -run Differential -upstream        # upstream's server beside it, printing the differences
//	go test . -run Differential -upstream -update  # and write upstream's answers into the files
//
// Beside the files, the last two play random sequences on both servers in
// lockstep; -seed repeats a run, -steps says how long it is. Read lockstep_test.go.
//
// upstream is k8s.io/apiextensions-apiserver, built from the command in
// ../upstream; the tests themselves do not import it. The expectations in the
// files are upstream's answers, but for the exchanges marked @ours or @differs,
// which docs/conformance.md explains.
package transcripts
