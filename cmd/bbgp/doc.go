// Bbgp trains Gaussian processes on tables, with bounds on what it computes,
// and predicts with them. See `bbgp help`.
//
// # Symbols
//
//	app             one run: its streams, and what an interrupt must not lose
//	trainingSet     the table of a command, as data of the model, with the Plan that made it
//	exit codes      0 to 5 and those of signals; docs/USAGE.md tells what each means
//
// # The way of the data
//
// A command line → config.go, flags.go → a command: check.go, fit.go, plan.go, lml.go, predict.go,
// cv.go, sample.go, report.go, info.go, demo.go, bench.go → tables by internal/table, inputs
// by internal/inputs (data.go, files.go) → package bbgp → output.go, summary.go, advice.go, and pictures
// by internal/plots. Faults become one line and an exit code in main.go.
package main
