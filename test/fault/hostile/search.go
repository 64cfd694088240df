package hostile

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Found is a case and its cost.
type Found struct {
	Case
	// Cost is the cost per byte, as the measure of the search defines it.
	Cost float64 `json:"-"`
}

// Search looks for the size and the seed of each single shape with the highest cost per byte: it measures a case,
// changes the worst one so far, and measures that, trials times in all. Sizes are from a quarter to twice those of the
// short form. It returns the worst case of each shape, the worst of all first.
func Search(seed uint64, trials int, measure func(Case) (float64, error)) ([]Found, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	var all []Found
	for _, s := range Single {
		worst := Found{Cost: -1}
		for trial := range trials {
			next := Case{Shape: s.Name, Size: max(1, s.Small/2), Seed: random.Uint64N(1000)}
			if trial > 0 {
				next = worst.changed(random, max(1, s.Small/4), min(2*s.Small, s.Whole))
			}
			cost, err := measure(next)
			if err != nil {
				return nil, err
			}
			if cost > worst.Cost {
				worst = Found{next, cost}
			}
		}
		all = append(all, worst)
	}
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(b.Cost, a.Cost) })
	return all, nil
}

// changed returns the case with another size, within bounds, or another seed.
func (c Case) changed(random *rand.Rand, smallest, largest int) Case {
	switch random.IntN(4) {
	case 0:
		c.Size = max(smallest, c.Size/2)
	case 1:
		c.Size = min(largest, c.Size*2)
	default:
		c.Seed = random.Uint64N(1000)
	}
	return c
}
