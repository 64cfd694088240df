package hostile

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Case is an input as data.
type Case struct {
	// Shape is the name of a shape.
	Shape string `json:"shape"`
	// Size is the number of what the shape multiplies: items, levels or versions.
	Size int `json:"size"`
	// Seed determines the random choices.
	Seed uint64 `json:"seed"`
}

// String describes the case in a line.
func (c Case) String() string { return fmt.Sprintf("%s, size %d, seed %d", c.Shape, c.Size, c.Seed) }

// Input generates the input.
func (c Case) Input() (*Input, error) {
	if i := c.of(Shapes); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("no such shape: %q", c.Shape)
}

// of generates the input if the shape is one of those given, and returns nil otherwise.
func (c Case) of(shapes []Shape) *Input {
	for _, s := range shapes {
		if s.Name == c.Shape {
			return s.generate(dice{rand.New(rand.NewPCG(c.Seed, uint64(c.Size)))}, c.Size)
		}
	}
	return nil
}

// Shape is a kind of input of any size.
type Shape struct {
	Name string
	// Small and Whole are the sizes for the short and the full form of tests.
	Small, Whole int

	generate func(d dice, size int) *Input
}

// Shapes are all shapes. Single are those that send one expensive request after the other, so that their answers are
// always the same.
var (
	Shapes = slices.Concat(Single, loadShapes)
	Single = slices.Concat(objectShapes, listShapes, patchShapes, readShapes, definitionShapes, columnShapes)
)

// dice makes the random choices of a case.
type dice struct{ *rand.Rand }

// order returns the numbers below n: in order, in reverse, or in no order.
func (d dice) order(n int) []int {
	numbers := d.Perm(n)
	if kind := d.IntN(4); kind < 2 {
		for i := range numbers {
			if numbers[i] = i; kind == 1 {
				numbers[i] = n - 1 - i
			}
		}
	}
	return numbers
}

// split returns two factors of about n. They are at least 1.
func (d dice) split(n int) (int, int) {
	first := 1
	for first*first < n {
		first *= 2
	}
	switch d.IntN(3) {
	case 0:
		first = max(1, first/2)
	case 1:
		first = min(n, first*2)
	}
	return first, max(1, n/first)
}
