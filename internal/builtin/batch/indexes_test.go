package batch

import (
	"slices"
	"testing"
)

func TestParseIndexes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		want  []interval
		error string
	}{
		{text: ""},
		{text: "0,2-4,9", want: []interval{{0, 0}, {2, 4}, {9, 9}}},
		{text: "1-2-3", error: `the fragment "1-2-3" violates the requirement that an index interval ` +
			`can have at most two parts separated by '-'`},
		{text: "x", error: `cannot convert string to integer for index: "x"`},
		{text: "10", error: `too large index: "10"`},
		{text: "3-3", error: "non-increasing order, previous: 3, current: 3"},
		{text: "3,2", error: "non-increasing order, previous: 3, current: 2"},
	} {
		got, err := parseIndexes(test.text, 10)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != test.error || test.error == "" && !slices.Equal(got, test.want) {
			t.Errorf("%q: %v, error %q", test.text, got, text)
		}
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	if index, found := overlap([]interval{{0, 1}, {4, 6}}, []interval{{2, 3}, {5, 9}}); !found || index != 5 {
		t.Errorf("overlap at %d, %v", index, found)
	}
	if _, found := overlap([]interval{{0, 1}}, []interval{{2, 3}}); found {
		t.Error("disjoint lists overlap")
	}
}

// FuzzParseIndexes checks that indexes ascend and are within bounds.
func FuzzParseIndexes(f *testing.F) {
	f.Add("0,2-4,9", int32(10))
	f.Fuzz(func(t *testing.T, text string, completions int32) {
		intervals, err := parseIndexes(text, completions)
		if err != nil {
			return
		}
		last := int32(-1)
		for _, i := range intervals {
			if i.first <= last || i.last < i.first || i.last >= completions {
				t.Fatalf("%q: %v", text, intervals)
			}
			last = i.last
		}
	})
}

// FuzzSchedule checks that no schedule makes the server panic.
func FuzzSchedule(f *testing.F) {
	f.Add("*/5 * * * *")
	f.Add("TZ=0")
	f.Fuzz(func(_ *testing.T, schedule string) { _ = parseSchedule(schedule) })
}
