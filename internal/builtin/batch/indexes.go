package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is a range of indexes of a job, with both ends.
type interval struct{ first, last int32 }

// parseIndexes parses indexes such as "1,3-5,7". They ascend, and are less than completions.
func parseIndexes(text string, completions int32) (intervals []interval, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		next, err := parseInterval(part, completions)
		if err != nil {
			return nil, err
		}
		if n := len(intervals); n > 0 && intervals[n-1].last >= next.first {
			return nil, fmt.Errorf("non-increasing order, previous: %d, current: %d", intervals[n-1].last, next.first)
		}
		intervals = append(intervals, next)
	}
	return intervals, nil
}

func parseInterval(text string, completions int32) (interval, error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most "+
			"two parts separated by '-'", text)
	}
	first, err := parseIndex(ends[0], completions)
	if err != nil || len(ends) == 1 {
		return interval{first, first}, err
	}
	last, err := parseIndex(ends[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return interval{first, last}, err
}

func parseIndex(text string, completions int32) (int32, error) {
	index, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	case index >= int(completions):
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(index), nil
}

func countIndexes(intervals []interval) (count int32) {
	for _, i := range intervals {
		count += i.last - i.first + 1
	}
	return count
}

// overlap returns the first index that two ascending lists have in common.
func overlap(a, b []interval) (index int32, found bool) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].first <= b[0].last && b[0].first <= a[0].last:
			return max(a[0].first, b[0].first), true
		case a[0].first <= b[0].first:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return 0, false
}
