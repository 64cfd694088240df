package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/fault/hostile"
	"github.com/crd-server/crd-server/test/programs"
)

// cost is what an input has cost a server.
type cost struct {
	// memory is the peak of anonymous memory above the idle server.
	memory int64
	// processor is the processor time of all phases.
	processor time.Duration
	// slowest is the longest time of a request, and slowestPhase its phase.
	slowest      time.Duration
	slowestPhase string
	// after is the processor time that was used after the clients had left.
	after  time.Duration
	health answers
	// read is the size of the stored object, or of a list of it, if the input reads one.
	read int64
	// answers are the statuses of each phase.
	answers []string
	// unanswered is the phase with a request that was not answered; fault is an answer that should not be given.
	unanswered, fault string
	// killed is set if the server was killed for its memory, ended if it does not run any more.
	killed, ended bool
}

func (c *cost) String() string {
	return fmt.Sprintf("%d MiB, CPU %s, slowest %s (%s), answers %s", c.memory>>20, rounded(c.processor),
		rounded(c.slowest),
		c.slowestPhase, strings.Join(c.answers, " "))
}

// budget returns how much memory the input may take: it depends on what is read if that is larger than requests.
func (c *cost) budget(input *hostile.Input) int64 {
	return max(input.Budget, hostile.BudgetOf(c.read))
}

// excesses lists the budgets of an input that were exceeded.
func (c *cost) excesses(input *hostile.Input) (found []string) {
	exceeded := func(is bool, format string, args ...any) {
		if is {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	exceeded(c.killed, "killed at %d MiB of memory", memoryCap>>20)
	exceeded(c.ended && !c.killed, "the server has ended")
	budget := c.budget(input)
	exceeded(c.memory > budget && !raceDetector(), "%d MiB of memory, more than %d", c.memory>>20, budget>>20)
	exceeded(c.unanswered != "", "%s was not answered", c.unanswered)
	exceeded(c.fault != "", "%s", c.fault)
	exceeded(c.slowest > hostileDeadline+time.Second, "%s took %s", c.slowestPhase, c.slowest)
	exceeded(c.after > hostileAfter, "%s of processor time after the clients had left", c.after)
	exceeded(c.health.Slowest > hostileHealth, "a health check took %s", c.health.Slowest)
	exceeded(c.health.Unanswered+c.health.Failed+c.health.Refused > 0 && !c.ended, "health: %v", c.health)
	return found
}

// hostileTable is the table of costs in the report.
type hostileTable struct{ strings.Builder }

func newHostileTable() *hostileTable {
	t := &hostileTable{}
	t.WriteString("| shape, size | server | bytes | memory | budget | memory per byte | CPU | CPU per KiB | " +
		"slowest answer | slowest health | CPU after leaving | answers " +
		"|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	return t
}

// compare sends a case to our server and, if upstream is not empty, to upstream's. It adds what it has cost, and fails
// the test if our server exceeds a budget.
func (h *hostileTable) compare(t *testing.T, c hostile.Case, upstream string) {
	t.Helper()
	input := generate(t, c)
	v := startVictim(t, programs.Server(), greedy, everybody, "--request-timeout", hostileDeadline.String())
	ours := measureAlone(t, input, v, true)
	h.add(t, c, "crd-server", input, ours)
	for _, excess := range ours.excesses(input) {
		t.Error(excess)
	}
	if upstream == "" {
		return
	}
	v = startVictim(t, upstream, "", "--", "--request-timeout", hostileDeadline.String())
	theirs := measureAlone(t, input, v, false)
	h.add(t, c, "upstream", input, theirs)
}

// add adds a row and logs it.
func (h *hostileTable) add(t *testing.T, c hostile.Case, server string, input *hostile.Input, got *cost) {
	t.Helper()
	bytes := float64(input.Size())
	memory := fmt.Sprintf("%d MiB", got.memory>>20)
	if got.killed {
		memory = fmt.Sprintf("> %d MiB", memoryCap>>20)
	}
	slowest := fmt.Sprintf("%s (%s)", rounded(got.slowest), got.slowestPhase)
	if got.unanswered != "" {
		slowest = "none (" + got.unanswered + ")"
	}
	row := fmt.Sprintf("| %s, %d | %s | %.0f | %s | %d MiB | %.0f | %s | %s | %s | %s | %s | %s |", c.Shape, c.Size,
		server,
		bytes, memory, got.budget(input)>>20, float64(got.memory)/bytes, rounded(got.processor),
		(time.Duration(float64(got.processor) / bytes * 1024)).Round(100*time.Nanosecond), slowest,
		rounded(got.health.Slowest),
		rounded(got.after), strings.Join(got.answers, " "))
	t.Log(row)
	h.WriteString(row + "\n")
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
