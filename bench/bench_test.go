package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	values := make([]time.Duration, 0, 101)
	for i := range 101 {
		values = append(values, time.Duration(100-i))
	}
	for percent, expected := range map[int]time.Duration{0: 0, 50: 50, 99: 99, 100: 100} {
		if got := percentile(values, percent); got != expected {
			t.Errorf("percentile %d is %d, not %d", percent, got, expected)
		}
	}
}

func TestBodiesAreJSON(t *testing.T) {
	for name, body := range map[string][]byte{
		"CRD":    widgetCRD(widgetGroup, "widgets", "Widget"),
		"widget": widget("Widget", widgetName(1), 1, 1),
	} {
		if !json.Valid(body) {
			t.Errorf("the %s is not JSON: %s", name, body)
		}
	}
}

func TestGeneratedCRDsHaveTheSizesAskedFor(t *testing.T) {
	const count = 500
	definitions, err := generateCRDs(count)
	if err != nil {
		t.Fatal(err)
	}
	sum, wanted, names := 0, 0, map[string]bool{}
	for i, definition := range definitions {
		sum += len(definition.Body)
		wanted += generatedSize(float64(i) / (count - 1))
		names[definition.Name] = true
	}
	if len(names) != count {
		t.Errorf("there are %d names, not %d", len(names), count)
	}
	if ratio := float64(sum) / float64(wanted); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("the CRDs have %d bytes, not about %d", sum, wanted)
	}
}

func TestContinueToken(t *testing.T) {
	items := strings.Repeat(`{"a":"b"},`, 1000)
	for page, expected := range map[string]string{
		`{"metadata":{"continue":"x="},"items":[` + items + `]}`: "x=",
		`{"items":[` + items + `],"metadata":{"continue":"y="}}`: "y=",
		`{"items":[` + items + `],"metadata":{}}`:                "",
	} {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write([]byte(page)); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		for _, answer := range [][]byte{[]byte(page), packed.Bytes()} {
			if got, err := continueToken(answer); err != nil || got != expected {
				t.Errorf("token %q (%v), not %q", got, err, expected)
			}
		}
	}
}

func TestReport(t *testing.T) {
	var results Results
	results.PutSample(rowGet, Upstream, Sample{Ops: 1000, Elapsed: time.Second, CPU: time.Second, P50: time.Millisecond,
		P99: 2 * time.Millisecond})
	results.PutSample(rowGet, Ours, Sample{Ops: 1000, Elapsed: time.Second, CPU: 100 * time.Millisecond})
	results.Put(rowPeak, Upstream, 1000)
	results.Put(rowPeak, Ours, 500)
	report := Report{Machine: "a machine", Rows: results.rows}

	var table, plot strings.Builder
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"1000 us CPU", "100 us CPU", "10.0x", "met", "2.0x", "missed"} {
		if !strings.Contains(table.String(), expected) {
			t.Errorf("the table does not say %q:\n%s", expected, &table)
		}
	}
	if err := report.WritePlot(&plot); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(plot.String()), new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("the plot is not XML: %v\n%s", err, &plot)
	}
}

func TestGrowth(t *testing.T) {
	for name, fifths := range map[string]int{"all": groupNames, "ended early": 1, "another part": 0} {
		var results Results
		results.Put(rowPeak, Ours, 500)
		for n := range fifths {
			results.PutSample(rowGrowth(n+1), Ours, Sample{Ops: 2000, Elapsed: 20 * time.Second, CPU: 10 * time.Second})
		}
		report := Report{Rows: results.rows}
		var plot strings.Builder
		if err := report.WriteGrowth(&plot); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal([]byte(plot.String()), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: the plot is not XML: %v\n%s", name, err, &plot)
		}
		if lines := strings.Count(plot.String(), "<polyline"); lines != 4 && fifths > 0 || lines > 0 && fifths == 0 {
			t.Errorf("%s: %d lines\n%s", name, lines, &plot)
		}
		// The names stand where the lines end: at 100 s and 50 of CPU, of 100.
		if ended := strings.Contains(plot.String(), `y="64.0"`) &&
			strings.Contains(plot.String(), `y="214.0"`); ended != (fifths == groupNames) {
			t.Errorf("%s: wrong ends:\n%s", name, &plot)
		}
	}
}

func TestCPUTimeOfThisProcess(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	for began := time.Now(); time.Since(began) < time.Second; {
		if after, _ := cpuTime(os.Getpid()); after > before {
			return
		}
	}
	t.Error("a busy process used no CPU")
}
