// Package plots draws the pictures of a fit, as PNG and as SVG.
//
// # Symbols
//
//	TracePoint    a step of a training: seconds, L and its bounds
//	Curve, Map    a prediction along one input, or over two, with its sd
//	z             standardised residual, (y - mean) / sd
//
// # The way of the data
//
// Numbers of a fit (plots.go) or of a report (report.go, effects.go, interaction.go, map.go) → a
// plot.Plot → [SVG] within a page, or [Save] as PNG and SVG files. svg.go lets
// the page choose the colours.
package plots
