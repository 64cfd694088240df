package main

import (
	"fmt"
	"strings"
	"time"
)

// Unit is the unit of a row. Less is always better.
type Unit string

// The units.
const (
	MicrosCPU Unit = "us CPU"
	MillisCPU Unit = "ms CPU"
	Millis    Unit = "ms"
	Seconds   Unit = "s"
	Megabytes Unit = "MB"
)

// Target is what crd-server must reach. The ratio counts; the value is that of the machine on which targets were set.
type Target struct {
	Value float64 `json:"value"`
	// Ratio is the factor by which crd-server must need less than upstream, or 0 if only the value counts.
	Ratio float64 `json:"ratio,omitempty"`
}

// Work names the work of a row.
type Work struct {
	Part   string `json:"part"`
	Name   string `json:"name"`
	Unit   Unit   `json:"unit"`
	Target Target `json:"target"`
}

// with is the same work with another number of clients.
func (w Work) with(clients int) Work {
	w.Name = fmt.Sprintf("%s, %d clients", strings.TrimSuffix(w.Name, fmt.Sprintf(", %d clients", clientCount)), clients)
	if clients == 1 {
		w.Name = strings.TrimSuffix(w.Name, "s")
	}
	return w
}

// Value is what a server needed for the work of a row.
type Value struct {
	// Value is in the row's unit.
	Value float64 `json:"value"`
	// The rest is set for loads only.
	PerSecond float64 `json:"perSecond,omitempty"`
	P50Millis float64 `json:"p50ms,omitempty"`
	P99Millis float64 `json:"p99ms,omitempty"`
}

// Row returns the row of a work, and adds it if needed.
type Row struct {
	Work
	Values map[Kind]Value `json:"values"`
	Notes  []string       `json:"notes,omitempty"`
}

// Ratio is how many times less than upstream a kind needed, 0 if that is not known.
func (r Row) Ratio(kind Kind) float64 {
	theirs, known := r.Values[Upstream]
	ours, measured := r.Values[kind]
	if !known || !measured || ours.Value == 0 {
		return 0
	}
	return theirs.Value / ours.Value
}

// Met returns whether the target is reached: by the ratio if it has one and upstream was measured, else by the value.
func (r Row) Met(kind Kind) bool {
	if r.Target == (Target{}) {
		return true
	}
	if ratio := r.Ratio(kind); r.Target.Ratio > 0 && ratio > 0 {
		return ratio >= r.Target.Ratio
	}
	return r.Values[kind].Value <= r.Target.Value
}

// Results keeps rows in the order of their first values.
type Results struct{ rows []*Row }

// Row finds the row of a work, or begins it.
func (r *Results) Row(work Work) *Row {
	for _, row := range r.rows {
		if row.Work == work {
			return row
		}
	}
	row := &Row{Work: work, Values: map[Kind]Value{}}
	r.rows = append(r.rows, row)
	return row
}

// Put records what a server needed.
func (r *Results) Put(work Work, kind Kind, value float64) {
	r.Row(work).Values[kind.column()] = Value{Value: value}
}

// PutSample records the cost of a load for each operation.
func (r *Results) PutSample(work Work, kind Kind, s Sample) {
	value := float64(s.PerOp().Nanoseconds()) / 1e3
	if work.Unit == MillisCPU {
		value /= 1e3
	}
	r.Row(work).Values[kind.column()] = Value{Value: value, PerSecond: s.Rate(), P50Millis: millis(s.P50),
		P99Millis: millis(s.P99)}
}

// Note adds a remark to a row.
func (r *Results) Note(work Work, kind Kind, format string, args ...any) {
	row := r.Row(work)
	row.Notes = append(row.Notes, fmt.Sprintf("%s: ", kind)+fmt.Sprintf(format, args...))
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
