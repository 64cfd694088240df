package batch

import "testing"

func TestCountIndexes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		want  int32
		error string
	}{
		{text: ""},
		{text: "0,2-4,9", want: 5},
		{text: "1-2-3", error: `the fragment "1-2-3" violates the requirement that an index interval ` +
			`can have at most two parts separated by '-'`},
		{text: "x", error: `cannot convert string to integer for index: "x"`},
		{text: "10", error: `too large index: "10"`},
		{text: "3-3", error: "non-increasing order, previous: 3, current: 3"},
		{text: "3,2", error: "non-increasing order, previous: 3, current: 2"},
	} {
		got, err := countIndexes(test.text, 10)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != test.error || got != test.want {
			t.Errorf("%q: %v, error %q", test.text, got, text)
		}
	}
}

// FuzzParseIndexes checks that there are not more indexes than completions.
func FuzzParseIndexes(f *testing.F) {
	f.Add("0,2-4,9", int32(10))
	f.Fuzz(func(t *testing.T, text string, completions int32) {
		if count, err := countIndexes(text, completions); err == nil && (count < 0 || count > max(completions, 0)) {
			t.Fatalf("%q: %d of %d", text, count, completions)
		}
	})
}

// FuzzSchedule checks that no schedule makes the server panic.
func FuzzSchedule(f *testing.F) {
	f.Add("*/5 * * * *")
	f.Add("TZ=0")
	f.Fuzz(func(_ *testing.T, schedule string) { _ = parseSchedule(schedule) })
}
