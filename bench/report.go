package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of a run.
type Report struct {
	Machine string    `json:"machine"`
	When    time.Time `json:"when"`
	Took    string    `json:"took"`
	// LoadBefore and LoadAfter are the machine's load averages.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
	Rows       []*Row `json:"rows"`
}

// machine describes the machine of a run.
func machine() string {
	memory := "unknown"
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib float64
		if _, err := fmt.Sscanf(string(info), "MemTotal: %f kB", &kib); err == nil {
			memory = fmt.Sprintf("%.0f GiB", kib/(1<<20))
		}
	}
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, found := strings.Cut(string(info), "model name\t: "); found {
			model, _, _ = strings.Cut(after, "\n")
		}
	}
	return fmt.Sprintf("%d cores (%s), %s, %s %s/%s", runtime.NumCPU(), model, memory, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
}

// WriteTable prints the report as Markdown that is readable as plain text.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s; %s, %s; load average %s before, %s after\n\n", r.Machine, r.When.UTC().Format("2006-01-02"),
		r.Took, r.LoadBefore, r.LoadAfter)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "| work\t| upstream\t| crd-server\t| ratio\t| target\t| \t| with etcd in it\t| bare handler\t|\n")
	fmt.Fprintf(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, row := range r.Rows {
		met := "missed"
		if row.Met(Ours) {
			met = "met"
		}
		if _, measured := row.Values[Ours]; !measured || row.Target == (Target{}) {
			met = ""
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", row.Name,
			row.show(Upstream), row.show(Ours), times(row.Ratio(Ours)), row.target(), met, row.show(Embedded), row.show(Bare))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeLoads(w)
}

// writeLoads prints throughput and latency, which depend more on the machine than on the server.
func (r *Report) writeLoads(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	header := false
	for _, row := range r.Rows {
		theirs, ours := row.Values[Upstream], row.Values[Ours]
		if theirs.PerSecond == 0 && ours.PerSecond == 0 {
			continue
		}
		if !header {
			header = true
			fmt.Fprintf(t, "\n| work\t| upstream: per second\t| p50 ms\t| p99 ms\t| crd-server: per second\t| p50 ms\t| p99 "+
				"ms\t|\n")
			fmt.Fprintf(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", row.Name,
			short(theirs.PerSecond), short(theirs.P50Millis), short(theirs.P99Millis),
			short(ours.PerSecond), short(ours.P50Millis), short(ours.P99Millis))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for _, note := range row.Notes {
			fmt.Fprintf(w, "\n%s: %s", row.Name, note)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r Row) show(kind Kind) string {
	value, measured := r.Values[kind]
	if !measured {
		return ""
	}
	return short(value.Value) + " " + string(r.Unit)
}

func (r Row) target() string {
	if r.Target == (Target{}) {
		return ""
	}
	text := "<= " + short(r.Target.Value) + " " + string(r.Unit)
	if r.Target.Ratio > 0 {
		text += fmt.Sprintf(" (%gx)", r.Target.Ratio)
	}
	return text
}

func times(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return short(ratio) + "x"
}

// short formats a number with two or three significant digits.
func short(value float64) string {
	switch {
	case value == 0:
		return ""
	case value < 1:
		return fmt.Sprintf("%.2f", value)
	case value < 20:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.0f", value)
	}
}
