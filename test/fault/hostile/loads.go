package hostile

import (
	"slices"
	"strings"
	"time"
)

// largest is nearly the largest body that servers accept.
const largest = 3<<20 - 1000

// loadShapes are several expensive requests at once.
var loadShapes = []Shape{
	{"bodies of 3 MiB", 10, 160, func(d dice, size int) *Input {
		return together(Phase{Name: "create", Clients: 40, Requests: largeBodies(d, size),
			Over: time.Duration(size) * 75 * time.Millisecond})
	}},
	{"ten at once", 1, 10, func(_ dice, size int) *Input { return atOnce(size, "create", "apply", "apply new") }},
	{"ten applies at once", 1, 10, func(_ dice, size int) *Input { return atOnce(size, "apply new") }},
	{"ten of one kind", 1000, 100000, func(d dice, size int) *Input {
		return times(Case{pick(d, "fields", "list map", "set", "fields of a free object"), size, d.Uint64()}, "apply new", 10)
	}},
}

// largeBodies returns requests with large bodies, half of which are invalid.
func largeBodies(d dice, n int) (all []Request) {
	bodies := [][]byte{
		thing("huge", "", `"free":{"a":"`+strings.Repeat("x", largest)+`"}`),
		thing("huge", "", `"free":{"l":[`+repeated("1", largest/2)+`]}`),
		thing("huge", "", `"values":{`+members(d, largest/24)+`}`),
		thing("huge", "", `"texts":[`+repeated("1", largest/2)+`]`),
		thing("huge", "", `"texts":[`+repeated("{}", largest/3)),
		thing("huge", "", `"free":`+strings.Repeat("[", largest)),
	}
	for i := range bodies {
		bodies[i] = bodies[i][:min(len(bodies[i]), largest+500)]
	}
	for i := range n {
		all = append(all, Request{Method: "POST", Path: things + "?dryRun=All", Body: bodies[i%len(bodies)]})
	}
	return all
}

// singles are the shapes of which loads take single requests.
var singles = slices.Concat(objectShapes, listShapes)

// mixed are the shapes that loads mix, with sizes for ten at once.
var mixed = []Case{
	{"nested objects", 9000, 1}, {"owner references", 20000, 2}, {"pattern with 900 states", 1 << 20, 3},
	{"fields", 100000, 4}, {"list map", 80000, 5}, {"set", 100000, 6}, {"managers", 10000, 7}, {"labels", 100000, 8},
	{"list map beside a null", 80000, 9}, {"fields of a free object", 100000, 10},
}

// atOnce returns an input that sends a request of each mixed shape at the same time: those of the phases that have the
// names given, in turn. Sizes are as many tenths of the ones above.
func atOnce(tenths int, names ...string) *Input {
	load := Phase{Name: "at once", Clients: len(mixed)}
	for n, c := range mixed {
		c.Size = c.Size * tenths / 10
		load.Requests = append(load.Requests, c.of(singles).request(names[n%len(names)]))
	}
	return together(load)
}

// times returns an input that sends one request of a case n times at once.
func times(c Case, phase string, n int) *Input {
	return together(Phase{Name: "at once", Clients: n,
		Requests: slices.Repeat([]Request{c.of(singles).request(phase)}, n)})
}

// together returns an input of a phase with the budget of any mix.
func together(load Phase) *Input {
	i := requests(prepared(), load)
	i.Budget = mixBudget
	return i
}

// request returns the first request of a phase.
func (i *Input) request(phase string) Request {
	for _, p := range i.Phases {
		if p.Name == phase {
			return p.Requests[0]
		}
	}
	return Request{}
}
