package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// countIndexes counts indexes such as "1,3-5,7". They ascend, and are less than completions.
func countIndexes(text string, completions int32) (count int32, err error) {
	if text == "" {
		return 0, nil
	}
	before := int32(-1)
	for part := range strings.SplitSeq(text, ",") {
		first, last, err := parseInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if before >= first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", before, first)
		}
		before, count = last, count+last-first+1
	}
	return count, nil
}

func parseInterval(text string, completions int32) (first, last int32, err error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most "+
			"two parts separated by '-'", text)
	}
	first, err = parseIndex(ends[0], completions)
	if err != nil || len(ends) == 1 {
		return first, first, err
	}
	last, err = parseIndex(ends[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return first, last, err
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
