package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Dimensions of the plot of growth in pixels.
const (
	growthWidth  = 640
	growthHeight = 300
	growthMargin = 60
)

// WriteGrowth draws the CPU time and the elapsed time of installing CRDs by their number. Dashed lines extrapolate
// the first fifth. Rows of other parts are left out.
func (r *Report) WriteGrowth(w io.Writer) error {
	cpu, elapsed := growthLine{name: "CPU", colour: "#2a7f62"}, growthLine{name: "time", colour: "#c8553d"}
	for n := range groupNames {
		for _, row := range r.Rows {
			if value := row.Values[Ours]; row.Work == rowGrowth(n+1) && value.PerSecond > 0 {
				cpu.add(grownFifth * value.Value / 1e3)
				elapsed.add(grownFifth / value.PerSecond)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="12">`+"\n", growthWidth+2*growthMargin, growthHeight+2*growthMargin)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&b, `<text x="10" y="18" font-size="14">Seconds to install CRDs, by their number; dashed: all as the `+
		`first fifth</text>`+"\n")
	most := math.Ceil(max(cpu.highest(), elapsed.highest(), 10)/10) * 10
	for tenth := range 11 {
		x, y := growthMargin+growthWidth*tenth/10, growthMargin+growthHeight-growthHeight*tenth/10
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ddd"/>`, growthMargin, y, growthMargin+growthWidth, y)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666" text-anchor="end">%g</text>`, growthMargin-6, y+4,
			most*float64(tenth)/10)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666" text-anchor="middle">%d</text>`+"\n", x, growthMargin+growthHeight+
			18, 1000*tenth)
	}
	for _, line := range []growthLine{cpu, elapsed} {
		line.draw(&b, most)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// growthLine is one measure, accumulated, in seconds after each fifth.
type growthLine struct {
	name, colour string
	seconds      []float64
}

func (l *growthLine) add(seconds float64) { l.seconds = append(l.seconds, l.sum()+seconds) }

// sum is the total so far.
func (l *growthLine) sum() float64 {
	if len(l.seconds) == 0 {
		return 0
	}
	return l.seconds[len(l.seconds)-1]
}

// straight is the end of the line if all fifths were like the first.
func (l *growthLine) straight() float64 {
	if len(l.seconds) == 0 {
		return 0
	}
	return groupNames * l.seconds[0]
}

func (l *growthLine) highest() float64 { return max(l.sum(), l.straight()) }

// draw draws the line, scaled to a height in seconds.
func (l *growthLine) draw(b *strings.Builder, most float64) {
	if len(l.seconds) == 0 {
		return
	}
	at := func(fifths int, seconds float64) string {
		return fmt.Sprintf("%d,%.1f", growthMargin+growthWidth*fifths/groupNames, growthMargin+growthHeight*(1-seconds/most))
	}
	points := []string{at(0, 0)}
	for n, seconds := range l.seconds {
		points = append(points, at(n+1, seconds))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(points, " "), l.colour)
	fmt.Fprintf(b, `<polyline points="%s %s" fill="none" stroke="%s" stroke-dasharray="4"/>`, at(0, 0),
		at(groupNames, l.straight()), l.colour)
	fmt.Fprintf(b, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n",
		growthMargin+growthWidth+6, growthMargin+growthHeight*(1-l.sum()/most)+4, l.colour, l.name)
}
