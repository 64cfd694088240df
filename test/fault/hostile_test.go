package fault

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/fault/hostile"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

var (
	keep  = flag.Bool("keep", false, "keep the worst ten inputs that TestHostile/search finds")
	alone = flag.Bool("alone", false, "run TestHostile/shapes without upstream's server")
)

// keptFile has the worst inputs that searches have found.
var keptFile = filepath.Join("testdata", "hostile.json")

const (
	// hostileDeadline is the --request-timeout of servers that get hostile inputs in full form.
	hostileDeadline = 10 * time.Second
	// hostileHealth is how long a health check may take, and hostileAfter how much processor time a server may use
	// after its client has left.
	hostileHealth = 500 * time.Millisecond
	hostileAfter  = time.Second
	// memoryCap is the memory at which a server is killed, so that the machine survives.
	memoryCap = 6 << 30
)

// TestHostile sends inputs that are expensive for their size (package hostile). The server must answer them within
// their budgets of memory.
//
// The short form sends the inputs in testdata/hostile.json. The full form sends every shape in its whole size to our
// server and to upstream's, prints what it costs both of them, and judges time too; then it searches for worse inputs,
// which -keep writes to that file.
func TestHostile(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	if !*full {
		keptInputs(t)
		return
	}
	t.Run("shapes", hostileShapes)
	t.Run("search", hostileSearch)
}

// keptInputs sends the kept inputs to one server, and checks memory and answers.
func keptInputs(t *testing.T) {
	content, err := os.ReadFile(keptFile)
	if err != nil {
		t.Fatal(err)
	}
	var cases []hostile.Case
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	v := newVictim(t, startServer(t, process.Options{Binary: programs.Server(),
		DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{everybody}}), greedy)
	var budget int64 // memory is not returned at once, so it is the largest so far
	for _, c := range cases {
		input := generate(t, c)
		budget = max(budget, input.Budget)
		got := v.run(t, input)
		t.Logf("%s: %s", c, got)
		if got.unanswered != "" || got.fault != "" {
			t.Errorf("%s: not answered: %q, failed: %s", c, got.unanswered, got.fault)
		}
		if got.memory > budget && !raceDetector() {
			t.Errorf("%s: %d MiB of memory, more than %d", c, got.memory>>20, budget>>20)
		}
	}
	written.add(t, "%d inputs took at most %d MiB of memory more than an idle server", len(cases), v.memory.above()>>20)
}

// hostileShapes sends every shape to both servers, each time to new ones.
func hostileShapes(t *testing.T) {
	table := newHostileTable()
	defer func() { written.text(t, table.String()) }()
	upstream, err := programs.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	probe := startVictim(t, programs.Server(), greedy, everybody)
	for _, s := range hostile.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			for _, c := range fullCases(t, s, probe) {
				t.Run(strconv.Itoa(c.Size), func(t *testing.T) { table.compare(t, c, upstream) })
			}
		})
	}
}

// fullCases returns a shape in its whole size. If our server refuses that, it also returns the largest half, quarter
// and so on that the server accepts.
func fullCases(t *testing.T, s hostile.Shape, probe *victim) []hostile.Case {
	t.Helper()
	c := hostile.Case{Shape: s.Name, Size: s.Whole, Seed: *seed}
	all := []hostile.Case{c}
	for c.Size > s.Small && !probe.accepts(t, c) {
		c.Size = max(s.Small, c.Size/2)
	}
	if c.Size < s.Whole {
		all = append(all, c)
	}
	return all
}

// hostileSearch searches for the worst cost per byte of our server. Costs are memory that was allocated, and
// processor time; 1 is a request of 3 MiB that allocates 1 GiB or takes a second.
func hostileSearch(t *testing.T) {
	const trials, kept = 8, 10
	v := startVictim(t, programs.Server(), greedy, everybody)
	found, err := hostile.Search(*seed, trials, func(c hostile.Case) (float64, error) {
		if v.ended() {
			t.Errorf("the server has ended before %s", c)
			v = startVictim(t, programs.Server(), greedy, everybody)
		}
		input, err := c.Input()
		if err != nil {
			return 0, err
		}
		allocated := v.allocated(t)
		got := v.run(t, input)
		bytes := float64(input.Size())
		const whole = 3 << 20
		cost := max((v.allocated(t)-allocated)/bytes*whole/(1<<30), got.processor.Seconds()/bytes*whole)
		t.Logf("%s: cost %.1f, %s", c, cost, got)
		return cost, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	worst := make([]hostile.Case, 0, kept)
	for _, f := range found[:min(kept, len(found))] {
		written.add(t, "%s: cost %.1f", f.Case, f.Cost)
		worst = append(worst, f.Case)
	}
	if !*keep {
		return
	}
	content, err := json.MarshalIndent(worst, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keptFile, append(content, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func generate(t *testing.T, c hostile.Case) *hostile.Input {
	t.Helper()
	input, err := c.Input()
	if err != nil {
		t.Fatal(err)
	}
	return input
}
