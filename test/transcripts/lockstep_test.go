package transcripts

import (
	"flag"
	"fmt"
	"math/rand/v2"
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
	// inParallel is how many sequences are played at a time.
	inParallel = 4
	// enoughDifferences ends a run: more of them are mostly the same.
	enoughDifferences = 6
)

// script makes the steps of a sequence: what is asked by the step of this
// seed, of a server that is known so far. Both servers are asked with the same
// seed, and so the same, but for the UIDs and revisions that each has given.
type script struct {
	name string
	// prologue are steps that a sequence begins with, and that shrinking keeps.
	prologue []func(known *side) request
	step     func(random *rand.Rand, known *side) request
}

// TestDifferentialLockstep plays random sequences on upstream's server and
// ours, step by step: writes of all sorts by several managers, reads with all
// parameters, and what no client means to send. After each step both must have
// answered the same: code, headers, Status or object, managed fields. Where they
// have not, steps are dropped as long as the difference stays, and what is left
// is printed, in the form of a transcript. Differences that are meant to be are in excuses.
//
// It is part of make differential and not of make test-e2e: upstream's server
// would have to be built there, which takes minutes where nothing of it is cached yet. What it
// has found is kept in transcripts, which are part of every run: readback.txt.
//
// What it does not see: times, which are only told from other values, and the order of
// managed fields and of causes, which follow the clock and chance. Watches of a negative timeout or
// from before upstream's cache, and those as a PartialObjectMetadataList, are left out.
func TestDifferentialLockstep(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	l := &lockstep{both: startBoth(t)}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	kinds := readKinds(t)
	for _, k := range kinds {
		newPlayer(t, l.theirs).serve(k.yaml)
		newPlayer(t, l.ours).serve(k.yaml)
	}
	for _, s := range []script{writing(kinds), reading(kinds), hostility(t, kinds)} {
		t.Run(s.name, func(t *testing.T) { l.run(t, s) })
	}
}

// lockstep has two servers do the same.
type lockstep struct {
	both
	// spaces counts the sequences played, each in a namespace of its own.
	spaces atomic.Int64
}

// run plays sequences of a script until enough steps are compared, or enough of them differ.
func (l *lockstep) run(t *testing.T, s script) {
	var (
		compared, excused, differences, next atomic.Int64
		all                                  sync.WaitGroup
	)
	for range inParallel {
		all.Go(func() {
			for compared.Load() < int64(*steps) && differences.Load() < enoughDifferences {
				sequence := sequenceOf(*seed, uint64(next.Add(1)))
				p := l.play(t, s, sequence)
				compared.Add(int64(p.steps))
				excused.Add(int64(p.excused))
				if p.difference != "" && l.report(t, s, sequence[:p.steps], p) {
					differences.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d steps compared, %d of them excused, -seed %d", compared.Load(), excused.Load(), *seed)
}

// sequenceOf are the seeds of one sequence's steps.
func sequenceOf(seed, number uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, number))
	sequence := make([]uint64, sequenceLength)
	for i := range sequence {
		sequence[i] = random.Uint64()
	}
	return sequence
}

// played is what came of a sequence.
type played struct {
	// steps are how many were played; the last one differs if there is a difference.
	steps      int
	difference string
	// excused is how many steps differ as they may.
	excused int
	// told is what was asked, and what upstream answered in a word.
	told strings.Builder
}

// play plays a sequence up to the first difference, in a namespace of its own.
func (l *lockstep) play(t testing.TB, s script, sequence []uint64) *played {
	space := fmt.Sprintf("s%d", l.spaces.Add(1))
	theirs, ours := newSide(t, l.theirs, space), newSide(t, l.ours, space)
	p := &played{}
	for _, step := range s.prologue {
		if p.compare(theirs, ours, step); p.difference != "" {
			return p
		}
	}
	for _, seed := range sequence {
		p.steps++
		p.compare(theirs, ours, func(known *side) request { return s.step(rand.New(rand.NewPCG(seed, seed)), known) })
		if p.difference != "" {
			return p
		}
	}
	return p
}

// compare has both servers take one step.
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

// report drops steps from a sequence as long as its last step still differs,
// and reports what is left. A difference that does not come again is none: two
// servers do not pass from one second to the next at the same moment.
func (l *lockstep) report(t *testing.T, s script, sequence []uint64, shortest *played) bool {
	differs := func(shorter []uint64) bool {
		p := l.play(t, s, shorter)
		if p.difference == "" || p.steps != len(shorter) {
			return false
		}
		shortest = p
		return true
	}
	if again := slices.Repeat([][]uint64{sequence}, 2); !slices.ContainsFunc(again, differs) {
		t.Logf("%s: a difference that did not come again:\n%s%s", s.name, shortest.told.String(), shortest.difference)
		return false
	}
	for size := len(sequence) / 2; size > 0; size /= 2 {
		for from := 0; from+size < len(sequence); {
			if shorter := slices.Concat(sequence[:from], sequence[from+size:]); differs(shorter) {
				sequence = shorter
			} else {
				from += size
			}
		}
	}
	t.Errorf("%s: these %d steps end differently:\n%s%s", s.name, len(sequence), shortest.told.String(), shortest.difference)
	return true
}
