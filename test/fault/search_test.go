package fault

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/fault/hostile"
	"github.com/crd-server/crd-server/test/programs"
)

var keep = flag.Bool("keep", false, "keep the worst ten inputs that TestHostile/search finds")

// keptFile has the worst inputs that searches have found.
var keptFile = filepath.Join("testdata", "hostile.json")

// kept is an input of that file, and the statuses of its phases. A limit that is removed changes the answers of an
// input that exceeds it.
type kept struct {
	hostile.Case
	Answers []string `json:"answers"`
}

// keptInputs sends the kept inputs to one server, and checks memory and answers.
func keptInputs(t *testing.T) {
	content, err := os.ReadFile(keptFile)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []kept
	if err := json.Unmarshal(content, &inputs); err != nil {
		t.Fatal(err)
	}
	v := startVictim(t, programs.Server(), greedy, everybody)
	var budget int64 // memory is not returned at once, so it is the largest so far
	for _, k := range inputs {
		input := generate(t, k.Case)
		got := v.run(t, input)
		budget = max(budget, got.budget(input))
		t.Logf("%s: %s", k.Case, got)
		if got.unanswered != "" || got.fault != "" {
			t.Errorf("%s: not answered: %q, failed: %s", k.Case, got.unanswered, got.fault)
		}
		if !slices.Equal(got.answers, k.Answers) && !libraries() {
			t.Errorf("%s: answers %q, want %q", k.Case, got.answers, k.Answers)
		}
		if got.memory > budget && !raceDetector() && !libraries() {
			t.Errorf("%s: %d MiB of memory, more than %d", k.Case, got.memory>>20, budget>>20)
		}
	}
	written.add(t, "%d inputs took at most %d MiB of memory more than an idle server", len(inputs),
		v.memory.above()>>20)
}

// search measures inputs of one server after the other.
type search struct {
	t *testing.T
	v *victim
	// harmless has what a request of the smallest input of each shape costs.
	harmless map[string]work
}

// work is what requests cost: bytes that were allocated, and processor time.
type work struct{ allocated, seconds float64 }

// hostileSearch searches for the worst cost per byte of our server.
func hostileSearch(t *testing.T) {
	const trials, worst = 6, 10
	s := &search{t: t, v: startVictim(t, programs.Server(), greedy, everybody), harmless: map[string]work{}}
	found, err := hostile.Search(*seed, trials, s.cost)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []kept
	s.v = startVictim(t, programs.Server(), greedy, everybody) // answers depend on what a server has stored
	for _, f := range found[:min(worst, len(found))] {
		written.add(t, "%s: cost %.1f", f.Case, f.Cost)
		if *keep {
			inputs = append(inputs, s.around(f.Case)...)
		}
	}
	if !*keep {
		return
	}
	content, err := json.MarshalIndent(inputs, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keptFile, append(content, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cost returns the cost per byte of a case, without the cost of as many harmless requests. 1 is a request of 3 MiB that
// allocates 1 GiB or takes a second. Inputs count as 64 KiB at least, because processor time is measured in 10 ms.
func (s *search) cost(c hostile.Case) (float64, error) {
	const whole, floor = 3 << 20, 64 << 10
	harmless, ok := s.harmless[c.Shape]
	if !ok {
		smallest := hostile.Case{Shape: c.Shape, Size: 1, Seed: c.Seed}
		_, all, input, err := s.measure(smallest)
		if err != nil {
			return 0, err
		}
		n := float64(input.Requests())
		harmless = work{all.allocated / n, all.seconds / n}
		s.harmless[c.Shape] = harmless
	}
	got, all, input, err := s.measure(c)
	if err != nil {
		return 0, err
	}
	n, bytes := float64(input.Requests()), float64(max(floor, input.Size()))
	cost := max((all.allocated-n*harmless.allocated)/(1<<30), all.seconds-n*harmless.seconds, 0) / bytes * whole
	s.t.Logf("%s: cost %.1f, %s", c, cost, got)
	return cost, nil
}

// measure sends a case and returns what it has cost.
func (s *search) measure(c hostile.Case) (*cost, work, *hostile.Input, error) {
	if s.v.ended() {
		s.t.Errorf("the server has ended before %s", c)
		s.v = startVictim(s.t, programs.Server(), greedy, everybody)
	}
	input, err := c.Input()
	if err != nil {
		return nil, work{}, nil, err
	}
	before := s.v.allocated(s.t)
	got := s.v.run(s.t, input)
	return got, work{s.v.allocated(s.t) - before, got.processor.Seconds()}, input, nil
}

// around returns the case, and the next one of twice, four times ... its size that is refused, if there is one.
func (s *search) around(c hostile.Case) []kept {
	const patience = 2 * time.Second
	at := s.v.run(s.t, generate(s.t, c))
	inputs := []kept{{c, at.answers}}
	for size := 2 * c.Size; size <= wholeSize(c); size *= 2 {
		larger := hostile.Case{Shape: c.Shape, Size: size, Seed: c.Seed}
		got := s.v.run(s.t, generate(s.t, larger))
		if refused(got.answers, at.answers) {
			return append(inputs, kept{larger, got.answers})
		}
		if got.slowest > patience {
			break
		}
	}
	return inputs
}

// status is a status among the answers of a phase.
var status = regexp.MustCompile(`[2-5]\d\d`)

// refused returns whether answers have an error that others do not have.
func refused(answers, others []string) bool {
	for _, code := range status.FindAllString(strings.Join(answers, " "), -1) {
		if code >= "400" && !strings.Contains(strings.Join(others, " "), code) {
			return true
		}
	}
	return false
}

// wholeSize returns the size of a case's shape in the full form.
func wholeSize(c hostile.Case) int {
	for _, s := range hostile.Single {
		if s.Name == c.Shape {
			return s.Whole
		}
	}
	return c.Size
}
