package bbgp

import (
	"errors"
	"testing"

	"bbgp.dev/bbgp/enum"
)

// TestWords: every word of package enum is taken as an option, others are refused by name.
func TestWords(t *testing.T) {
	var all []Options
	for _, m := range enum.Methods() {
		all = append(all, Options{Method: m})
	}
	for _, o := range enum.Optimizers() {
		all = append(all, Options{Optimizer: o})
	}
	for _, p := range enum.Precisions() {
		all = append(all, Options{Precision: p})
	}
	for _, p := range enum.Products() {
		all = append(all, Options{Product: p})
	}
	for _, o := range all {
		if _, err := o.settle(100, 2); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for option, o := range map[string]Options{"method": {Method: enum.MethodConstant}, "optimizer": {Optimizer: "sgd"},
		"precision": {Precision: "f16"}, "product": {Product: "fft"}, "kernel": {Kernel: "linear"}} {
		var bad *OptionError
		if _, err := o.settle(100, 2); !errors.As(err, &bad) || bad.Option != option {
			t.Errorf("%s: %v", option, err)
		}
	}
}
