package transcripts

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("seed", 0, "with -upstream, what the random steps are made of; 0 for a new one")
	steps = flag.Int("steps", 8000, "with -upstream, how many random steps are compared")
)

const (
	// sequenceLength is how many steps are played on the same objects.
	sequenceLength = 40
	// inParallel is how many sequences run at a time.
	inParallel = 4
	// enoughDifferences ends a run: further ones are mostly the same.
	enoughDifferences = 6
)

// script makes the steps of a sequence from seeds and from what is known of a server. Both servers get the same
// requests except for their own UIDs and revisions.
type script struct {
	name string
	// prologue are steps at the beginning of a sequence, which shrinking keeps.
	prologue []func(known *side) request
	step     func(random *rand.Rand, known *side) request
}

// TestDifferentialLockstep sends random sequences of requests to upstream's server and to ours, step by step: writes
// of all kinds by several managers, reads with all parameters, and malformed requests. After each step both must have
// answered the same: code, headers, Status or object, managed fields. For a difference, it drops steps as long as the
// difference remains, and prints the rest in the format of a transcript. Intended differences are in excuses.
//
// The test is part of make differential only. What it has found is kept in transcripts that are part of every run,
// such as readback.txt.
//
// It does not compare times, nor the order of managed fields and of causes, which is random. It leaves out watches
// with a negative timeout, from before upstream's cache, and as PartialObjectMetadataList.
func TestDifferentialLockstep(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	f := folders[0] // random applies are answered by 500, which both servers log
	l := &lockstep{both: both{theirs: f.start(t, f.upstream), ours: f.startUnchecked(t)}}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	kinds := readKinds(t)
	for _, k := range kinds {
		newPlayer(t, l.theirs).serve(k.yaml)
		newPlayer(t, l.ours).serve(k.yaml)
		if !k.namespaced {
			l.addLast(t, k)
		}
	}
	for _, s := range []script{writing(kinds), reading(kinds), hostility(t, kinds)} {
		t.Run(s.name, func(t *testing.T) { l.run(t, s) })
	}
}

// lockstep sends the same requests to two servers.
type lockstep struct {
	both
	// spaces counts the sequences played, each in a namespace of its own.
	spaces atomic.Int64
}

// addLast creates an object that comes after those of all sequences, without labels. A full page has a continue token
// if any object follows it, so without this one, tokens of cluster-scoped kinds would depend on the other sequences.
func (l *lockstep) addLast(t *testing.T, k *kind) {
	t.Helper()
	place := place{kind: k, kindVersion: k.versions[0]}
	object := map[string]any{"apiVersion": place.apiVersion(), "kind": k.kind,
		"metadata": map[string]any{"name": "zz-last"}, "spec": map[string]any{"color": "red", "both": "x"}}
	for _, server := range []*target{l.theirs, l.ours} {
		newSide(t, server, "").mustAsk(http.MethodPost, place.collection(), object)
	}
}

// run plays sequences of a script until it has compared enough steps or found enough differences.
func (l *lockstep) run(t *testing.T, s script) {
	var (
		compared, excused, differences, next atomic.Int64
		all                                  sync.WaitGroup
	)
	for range inParallel {
		all.Go(func() {
			for compared.Load() < int64(*steps) && differences.Load() < enoughDifferences {
				whole := newSequence(*seed, uint64(next.Add(1)))
				p := l.play(t, s, whole)
				compared.Add(int64(p.steps))
				excused.Add(int64(p.excused))
				if p.difference != "" && l.report(t, s, whole.of(whole.steps[:p.steps]), p) {
					differences.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d steps compared, %d of them excused, -seed %d", compared.Load(), excused.Load(), *seed)
}

// sequence is a number of steps in a row.
type sequence struct {
	// number is that of the sequence. It stays the same when steps are dropped.
	number uint64
	// steps are the seeds of the steps.
	steps []uint64
}

// newSequence returns a sequence of a run.
func newSequence(seed, number uint64) sequence {
	random := rand.New(rand.NewPCG(seed, number))
	s := sequence{number: number, steps: make([]uint64, sequenceLength)}
	for i := range s.steps {
		s.steps[i] = random.Uint64()
	}
	return s
}

// of returns the sequence with some of its steps.
func (s sequence) of(steps []uint64) sequence { return sequence{s.number, steps} }

// played is the result of a sequence.
type played struct {
	// steps is how many were played; if there is a difference, the last one differs.
	steps      int
	difference string
	// excused counts intended differences.
	excused int
	// told has the requests and the first line of upstream's responses.
	told strings.Builder
}

// play plays a sequence up to the first difference, in a namespace of its own.
func (l *lockstep) play(t testing.TB, s script, steps sequence) *played {
	space := fmt.Sprintf("s%d", l.spaces.Add(1))
	theirs, ours := newSide(t, l.theirs, space), newSide(t, l.ours, space)
	theirs.sequence, ours.sequence = steps.number, steps.number
	p := &played{}
	for _, step := range s.prologue {
		if p.compare(theirs, ours, step); p.difference != "" {
			return p
		}
	}
	for _, seed := range steps.steps {
		p.steps++
		p.compare(theirs, ours, func(known *side) request { return s.step(rand.New(rand.NewPCG(seed, seed)), known) })
		if p.difference != "" {
			return p
		}
	}
	return p
}

// compare sends one step to both servers.
func (p *played) compare(theirs, ours *side, step func(*side) request) {
	var (
		want, got []string
		both      sync.WaitGroup
	)
	both.Go(func() { got = ours.ask(step(ours)) })
	asked := step(theirs)
	want = theirs.ask(asked)
	both.Wait()
	fmt.Fprintf(&p.told, "> %s\n< %s\n", strings.Join(asked.lines(), "\n> "), want[0])
	switch {
	case text(want) == text(got):
	case excusable(text(want), text(got)):
		p.excused++
	default:
		p.difference = difference("upstream", want, "crd-server", got)
	}
}

// report drops steps from a sequence as long as the last one still differs, and reports the rest. It ignores a
// difference that it cannot repeat: two servers do not enter a new second at the same moment.
func (l *lockstep) report(t *testing.T, s script, failed sequence, shortest *played) bool {
	differs := func(shorter []uint64) bool {
		p := l.play(t, s, failed.of(shorter))
		if p.difference == "" || p.steps != len(shorter) {
			return false
		}
		shortest = p
		return true
	}
	if again := slices.Repeat([][]uint64{failed.steps}, 2); !slices.ContainsFunc(again, differs) {
		t.Logf("%s: a difference that did not come again:\n%s%s", s.name, shortest.told.String(), shortest.difference)
		return false
	}
	steps := failed.steps
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size < len(steps); {
			if shorter := slices.Concat(steps[:from], steps[from+size:]); differs(shorter) {
				steps = shorter
			} else {
				from += size
			}
		}
	}
	t.Errorf("%s: these %d steps end differently:\n%s%s", s.name, len(steps), shortest.told.String(),
		shortest.difference)
	return true
}
