package transcripts

import (
	"slices"
	"testing"
)

// TestUpdateKeepsUpstreamsResponses checks which responses -update takes from our server if upstream's was not asked:
// those of exchanges that are marked as ours.
func TestUpdateKeepsUpstreamsResponses(t *testing.T) {
	t.Parallel()
	theirs, ours := []string{"200 theirs"}, []string{"200 ours"}
	for _, test := range []struct {
		prose  []string
		update bool
		want   []string
	}{
		{nil, true, theirs},
		{[]string{"@raw"}, true, theirs},
		{[]string{"It is @ours."}, true, theirs},
		{[]string{"@ours upstream has no such path"}, true, ours},
		{[]string{"@raw", "@differs a limit"}, true, ours},
		{[]string{"@ours upstream has no such path"}, false, theirs},
	} {
		e := exchange{prose: test.prose, request: []string{"GET /"}, response: theirs}
		if got := e.expected(ours, test.update); !slices.Equal(got, test.want) {
			t.Errorf("%q, update %t: %q", test.prose, test.update, got)
		}
	}
}
