package fault

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/fault/hostile"
	"github.com/crd-server/crd-server/test/programs"
)

var alone = flag.Bool("alone", false, "run TestHostile/shapes without upstream's server")

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
// server and to upstream's, prints what it costs both of them, and judges time too. Our server also gets the largest
// size that it accepts. Then the full form searches for worse inputs, which -keep writes to that file.
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

// hostileShapes sends every shape to both servers, each time to new ones.
func hostileShapes(t *testing.T) {
	table := newHostileTable()
	defer func() { written.text(t, table.String()) }()
	var upstream string
	if !*alone {
		var err error
		if upstream, err = programs.Upstream(); err != nil {
			t.Fatal(err)
		}
	}
	probe := startVictim(t, programs.Server(), greedy, everybody)
	for _, s := range hostile.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			for n, c := range fullCases(t, s, probe) {
				other := upstream
				if n > 0 {
					other = "" // one size is enough to compare
				}
				t.Run(strconv.Itoa(c.Size), func(t *testing.T) { table.compare(t, c, other) })
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

func generate(t *testing.T, c hostile.Case) *hostile.Input {
	t.Helper()
	input, err := c.Input()
	if err != nil {
		t.Fatal(err)
	}
	return input
}
