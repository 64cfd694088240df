package transcripts

import (
	"cmp"
	"flag"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/crd-server/crd-server/test/programs"
)

var (
	update   = flag.Bool("update", false, "write responses into the transcripts: with -upstream all, else only ours")
	upstream = flag.Bool("upstream", false, "run TestDifferential, with upstream's server")
)

// startTimeout bounds the start of a server.
const startTimeout = time.Minute

// TestTranscripts plays all transcripts against the server.
func TestTranscripts(t *testing.T) {
	if *upstream {
		t.Skip("with -upstream, TestDifferential plays them")
	}
	for _, f := range folders {
		t.Run(f.title(), func(t *testing.T) { eachTranscript(t, f, f.startOurs, playOurs) })
	}
}

// playOurs plays a transcript against our server.
func playOurs(t *testing.T, ours *target, script *transcript) {
	player := newPlayer(t, ours)
	player.sorted = script.builtin()
	for i, e := range script.exchanges {
		got := player.play(e)
		want := e.expected(got, *update)
		report(t, e, "the transcript", want, "the server", got)
		script.exchanges[i].response = want
	}
	if *update {
		script.write(t)
	}
}

// TestDifferential plays all transcripts against upstream's server and ours, and prints where the answers differ. An
// exchange marked @differs must differ.
func TestDifferential(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	for _, f := range folders {
		t.Run(f.title(), func(t *testing.T) { eachTranscript(t, f, f.startBoth, playBoth) })
	}
}

// playBoth plays a transcript against both servers.
func playBoth(t *testing.T, servers both, script *transcript) {
	reference, player := newPlayer(t, servers.theirs), newPlayer(t, servers.ours)
	reference.sorted, player.sorted = script.builtin(), script.builtin()
	for i, e := range script.exchanges {
		script.exchanges[i].response = compare(t, e, reference, player)
	}
	if *update {
		script.write(t)
	}
}

// compare plays an exchange against both servers and returns the response that the transcript should hold.
func compare(t *testing.T, e exchange, reference, player *player) []string {
	t.Helper()
	got := player.play(e)
	if e.has("ours") {
		return got
	}
	want := reference.play(e)
	if !e.has("differs") {
		report(t, e, "upstream", want, "crd-server", got)
		return want
	}
	if text(want) == text(got) {
		t.Errorf("%s: the answers no longer differ, @differs can go", e.title())
		return want
	}
	reason, _ := e.directive("differs")
	t.Logf("%s: differs as intended (%s)\n%s", e.title(), reason, difference("upstream", want, "crd-server", got))
	return got
}

// both are upstream's server and ours.
type both struct{ theirs, ours *target }

// folder is a folder of transcripts.
type folder struct {
	// name is the path below testdata, empty or with a slash at its end.
	name string
	// alone says that each file has servers of its own, else all share them.
	alone bool
	// upstream starts the server that has written the transcripts, flags are those of ours.
	upstream func(t *testing.T, flags ...string) *target
	flags    []string
	// further, if set, returns further flags of a server, and its audit log if it has one.
	further func(t *testing.T) (flags []string, auditLog string)
}

// folders are all transcripts. Those in refused install the same CRDs. The folders from admission on are for built-in
// resources, which upstream's server of custom resources does not have: all has no controllers, objects in defaults
// change all others, and pods in accounts need service accounts.
var folders = []folder{
	{upstream: startUpstream, flags: customFlags},
	{name: "refused/", alone: true, upstream: startUpstream, flags: customFlags},
	{name: "admission/", upstream: startControlPlane, flags: builtinFlags, further: auditFlags},
	{name: "builtin/", upstream: startControlPlane, flags: builtinFlags},
	{name: "all/", upstream: startAPIServer, flags: slices.Concat(allFlags, withoutAccounts)},
	{name: "defaults/", alone: true, upstream: startAPIServer, flags: slices.Concat(allFlags, withoutAccounts)},
	{name: "quotas/", upstream: startControlPlane, flags: slices.Concat(quotaFlags, withoutAccounts), further: limitFlags},
	{name: "accounts/", upstream: startWithAccounts, flags: allFlags},
}

func folderNamed(name string) folder {
	return folders[slices.IndexFunc(folders, func(f folder) bool { return f.name == name })]
}

// title names the folder in the output of a test.
func (f folder) title() string {
	return cmp.Or(strings.TrimSuffix(f.name, "/"), "files")
}

// startOurs starts our server, and checks its log when the test ends.
func (f folder) startOurs(t *testing.T) *target {
	t.Helper()
	ours := f.startUnchecked(t)
	t.Cleanup(func() { checkLog(t, ours.log()) })
	return ours
}

func (f folder) startUnchecked(t *testing.T) *target {
	t.Helper()
	return f.start(t, func(t *testing.T, flags ...string) *target {
		return startTarget(t, programs.Server(), slices.Concat(f.flags, flags)...)
	})
}

// checkLog checks that a server has logged no error: what clients do, in all transcripts, is none.
func checkLog(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if logsError.MatchString(line) {
			t.Errorf("the log has %s", line)
		}
	}
}

// logsError matches an entry of the log that is an error.
var logsError = regexp.MustCompile(`^E\d{4} `)

func (f folder) startBoth(t *testing.T) both {
	t.Helper()
	return both{theirs: f.start(t, f.upstream), ours: f.startOurs(t)}
}

func (f folder) start(t *testing.T, server func(*testing.T, ...string) *target) *target {
	t.Helper()
	if f.further == nil {
		return server(t)
	}
	flags, auditLog := f.further(t)
	started := server(t, flags...)
	started.auditLog = auditLog
	return started
}

// eachTranscript runs a test for each file of a folder, in parallel.
func eachTranscript[S any](t *testing.T, f folder, start func(*testing.T) S, play func(*testing.T, S, *transcript)) {
	t.Helper()
	t.Parallel()
	servers := start
	if !f.alone {
		shared := start(t)
		servers = func(*testing.T) S { return shared }
	}
	for _, name := range transcriptsIn(t, f.name) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, servers(t), readTranscript(t, name))
		})
	}
}

// transcriptsIn returns the names of the transcripts in a folder of testdata.
func transcriptsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(fileOf(folder + "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for i, file := range files {
		files[i] = folder + strings.TrimSuffix(filepath.Base(file), ".txt")
	}
	return files
}

// report fails the test if the responses differ.
func report(t *testing.T, e exchange, wantFrom string, want []string, gotFrom string, got []string) {
	t.Helper()
	if text(want) != text(got) {
		t.Errorf("%s\n%s", e.title(), difference(wantFrom, want, gotFrom, got))
	}
}

func difference(wantFrom string, want []string, gotFrom string, got []string) string {
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(text(want)), FromFile: wantFrom,
		B: difflib.SplitLines(text(got)), ToFile: gotFrom,
		Context: 3,
	})
	if err != nil {
		return err.Error()
	}
	return diff
}
