package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Dimensions of the plot in pixels.
const (
	plotLabels = 400
	plotBars   = 420
	plotRow    = 22
	plotTop    = 44
)

// WritePlot draws for each row how many times less than upstream crd-server needed, on a logarithmic scale, and marks
// the target.
func (r *Report) WritePlot(w io.Writer) error {
	var rows []*Row
	most := 10.0
	for _, row := range r.Rows {
		if row.Ratio(Ours) > 0 {
			rows = append(rows, row)
			most = max(most, row.Ratio(Ours), row.Target.Ratio)
		}
	}
	at := func(ratio float64) float64 { return max(0, math.Log10(ratio)/math.Log10(most)) * plotBars }
	var b strings.Builder
	height := plotTop + plotRow*len(rows) + 10
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="12">`+"\n", plotLabels+plotBars+70, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&b, `<text x="10" y="18" font-size="14">Times less than upstream (CPU, memory, time); the mark is the `+
		`target</text>`+"\n")
	for decade := 1.0; decade <= most; decade *= 10 {
		x := plotLabels + at(decade)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" fill="#666" `+
			`text-anchor="middle">%gx</text>`+"\n",
			x, plotTop-6, x, height-8, x, plotTop-10, decade)
	}
	for i, row := range rows {
		y, ratio, colour := plotTop+i*plotRow, row.Ratio(Ours), "#2a7f62"
		if !row.Met(Ours) {
			colour = "#c8553d"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, plotLabels-8, y+13, html.EscapeString(row.Name))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, plotLabels, y+2, at(ratio), plotRow-7,
			colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", plotLabels+max(at(ratio), at(row.Target.Ratio))+6, y+13,
			times(ratio))
		if row.Target.Ratio > 0 {
			x := plotLabels + at(row.Target.Ratio)
			fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="black" stroke-width="2"/>`+"\n", x, y, x, y+
				plotRow-3)
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
