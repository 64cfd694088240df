// Package docs runs the commands of README.md, CONTRIBUTING.md and the pages in docs/.
//
// TestPages runs each page in a shell of its own, block by block. The language of a fence says what is done with it:
//
//   - sh: commands, which must succeed;
//   - console: commands after "$ ", which must print the lines below them; durations, ports and the folder of
//     crd-server.data may differ;
//   - text and the languages of files (yaml, go, ...): no commands.
//
// Other languages are refused. Commands that cannot run in a test have a comment with the reason on the line before the
// fence:
//
//	<!-- not run: it needs systemd -->
//
// A comment that begins with the line "<!-- run:" has commands that prepare the page for the test, such as the start of
// a server. The shell is in a folder with the project's bin, config, docs and test; crd-server, kubectl, etcd, etcdctl
// and etcdutl are in its path. Servers take free ports; PORT1 to PORT6 are free too. A command waits until the servers
// that the page has started in the background are ready.
//
// A page that runs controllers of other projects names their programs in a line:
//
//	<!-- needs: kwok kube-scheduler -->
//
// Its commands run with the flag -controllers (make test-controllers), because these programs take minutes to compile.
//
// Pages that call openssl or curl are left out where these are not installed, except in CI.
//
// TestLimits compares the messages in docs/limits.md with those of kubectl.
package docs
