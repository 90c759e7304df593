// Command paper repeats the experiments of Burt, Artemev and van der Wilk,
// "Barely Biased Learning for Gaussian Process Regression" (2021), side by side
// from one program, and writes the page docs/RESULTS.md with its figures:
//
//	make paper                                        # what is missing, studies, page
//	make paper QUICK=1                                # one split, 2000 rows, with checks
//	bin/paper -sets bike -splits 0,1 -methods bbgp,cglb-1000 -cpu 240
//	bin/paper -do page                                # from the results that are there
//
// Sets are split, standardised and, but for method bbgp, initialised as in the
// paper's appendix. Methods:
//
//	bbgp            our defaults
//	adam-eE-sS      BBGP as in the paper: Adam with step 0.1 from all ones, eps E
//	                nats, S probes, a low-rank preconditioner only
//	sgpr-M, cglb-M  M inducing rows by greedy pivots, from all ones
//	iterative       Gardner et al. 2018, Adam with step 0.1 from all ones
//	exact           Cholesky, from all ones
//
// With +prefit after its name a method starts where our pre-fit ends, with +ones from
// all ones, with +long its cap on CPU seconds is four times as high.
//
// One file per size, set, split and method holds a run, CSV with a head of
// remarks. A run is trained in a process of its own, so that its CPU seconds and
// its peak of memory are its own; what is measured at the points of its way
// afterwards is in neither. Files are written whole or not at all; a run that is
// complete is not repeated, one that was trained is only measured on. A run that a
// cap has ended is complete; delete its file to run it with another cap.
package main
