package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every case gives the same answer with y times 1000, an input moved by 1e6, the
// rows in another order, or another number of threads.
func TestGeneralRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cases := map[string][][]float64{
		"01": {{1, 2, 0}, {2, 2, 0}},
		"03": {{20, 0, 740}, {20, 0, 680}, {140, 1, 1260}, {140, 1, 1200}},
		"29": {{0.032, 0.745, 1.5244}, {0.428, 0.916, 2.2617}, {0.427, 0.574, 1.577},
			{0.938, 0.425, 1.79}, {0.999, 0.999, 3.0}},
		"47": {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
	}
	add := func(name string, n int, f func(i int) []float64) {
		for i := range n {
			cases[name] = append(cases[name], f(i))
		}
	}
	add("05", 60, func(i int) []float64 {
		x := float64(i) / 59
		return []float64{x, float64(i % 3), math.Sin(10*math.Pi*x) + 0.01*float64(i%3)}
	})
	add("07", 80, func(int) []float64 {
		x := rng.Float64()
		return []float64{x, rng.Float64(), math.Sin(2*math.Pi*x) + 0.2*rng.NormFloat64()}
	})
	add("09", 100, func(i int) []float64 {
		return []float64{1e13 + 100*float64(i), float64(i % 5), math.Sin(float64(i)/10) + 0.05*rng.NormFloat64()}
	})
	add("11", 160, func(i int) []float64 {
		x := float64(rng.IntN(21))
		return []float64{x, float64(i % 2), 100 * math.Round((7500+600*math.Sin(x/2)+300*rng.NormFloat64())/100)}
	})
	add("13", 49, func(i int) []float64 {
		a, b := float64(i/7)/3-1, float64(i%7)/3-1
		return []float64{a, 100 * b, a*a + b*b + 0.05*rng.NormFloat64()}
	})
	add("15", 30, func(int) []float64 {
		x := rng.Float64()
		return []float64{x, x * x, -50000*x + 100*rng.NormFloat64()}
	})
	add("17", 60, func(int) []float64 {
		u := -4 * rng.Float64()
		return []float64{u, 1, 3*u + 0.01*rng.NormFloat64()}
	})
	add("21", 100, func(int) []float64 {
		x, z := rng.Float64(), rng.Float64()
		return []float64{x, z, math.Sin(2*math.Pi*(x+z)) + 0.01*rng.NormFloat64()}
	})
	add("27", 100, func(i int) []float64 {
		x, y := rng.Float64(), 0.3*rng.NormFloat64()
		if i%20 == 7 {
			y += 15
		}
		return []float64{x, rng.Float64(), math.Sin(4*math.Pi*x) + y}
	})
	add("45", 84, func(i int) []float64 { // in blocks, sorted
		f, c := float64(i%14), float64(i/14)
		return []float64{200 * math.Pow(1.26, f), 0.3 - 0.05*c, 125 - 0.4*(f-c)*(f-c) + 0.8*rng.NormFloat64()}
	})
	add("47", 5, func(int) []float64 { return []float64{rng.Float64(), rng.Float64(), rng.Float64()} })
	add("49", 100, func(i int) []float64 {
		return []float64{float64(rng.IntN(40)), float64(rng.IntN(3)), math.Sin(float64(i)/40) + 0.3*rng.NormFloat64()}
	})
	for name, rows := range cases {
		t.Run(name, func(t *testing.T) { sameAnswers(t, rows) })
	}
}

// sameAnswers fits rows x1, x2, y as they are and changed: in all ways at once, and in each under BBGP_LONG=1.
func sameAnswers(t *testing.T, rows [][]float64) {
	dir := t.TempDir()
	var points [][]float64
	for _, r := range rows[:min(len(rows), 6)] {
		points = append(points, []float64{r[0] + 0.01, r[1] - 0.01})
	}
	ask := func(what string, rows, points [][]float64, args ...string) (mean, sd []float64) {
		f := fitCase(t, csvOf(t, dir, "d.csv", "x1,x2,y", rows), args...)
		mean, sd, _ = f.predictAt(t, "x1,x2", points)
		if len(mean) != len(points) {
			t.Fatalf("%s: %d predictions", what, len(mean))
		}
		return mean, sd
	}
	change := func(rows [][]float64, f func(r []float64)) (out [][]float64) {
		for _, r := range rows {
			c := append([]float64{}, r...)
			f(c)
			out = append(out, c)
		}
		return out
	}
	mean, sd := ask("as it is", rows, points)
	spread := 1e-9 // where the target is constant
	for _, r := range rows {
		spread = max(spread, math.Abs(r[2]-rows[0][2]))
	}
	same := func(what string, m, s []float64, scale, tol float64) {
		for i := range mean {
			if math.Abs(m[i]/scale-mean[i]) > tol*spread || math.Abs(s[i]/scale-sd[i]) > tol*spread {
				t.Errorf("%s: row %d is %g ± %g, before %g ± %g", what, i, m[i]/scale, s[i]/scale, mean[i], sd[i])
				return
			}
		}
	}
	move, enlarge := func(r []float64) { r[0] += 1e6 }, func(r []float64) { r[2] *= 1000 }
	mixed := append([][]float64{}, rows...)
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	if !long() {
		m, s := ask("all", change(change(mixed, move), enlarge), change(points, move), "--threads", "3")
		same("y times 1000, an input moved by 1e6, another order, three threads", m, s, 1000, 1e-4)
		return
	}
	m, s := ask("y times 1000", change(rows, enlarge), points)
	same("y times 1000", m, s, 1000, 1e-4)
	m, s = ask("an input moved", change(rows, move), change(points, move))
	same("an input moved by 1e6", m, s, 1, 1e-4)
	m, s = ask("another order", mixed, points)
	same("another order", m, s, 1, 1e-4)
	m, s = ask("three threads", rows, points, "--threads", "3")
	same("three threads", m, s, 1, 0)
}

// The likelihood at given parameters is that of the table, whatever the order of
// its rows, the origin of an input, the unit of the target and the threads.
func TestGeneralRulesLML(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(19, 41))
	var rows [][]float64
	for range 400 {
		x, z := rng.Float64(), rng.Float64()
		rows = append(rows, []float64{x, z, math.Sin(6*x) + z + 0.1*rng.NormFloat64()})
	}
	p := write(t, dir, "p.json", `{"mean":0,"variance":1,"noise":0.02,"lengthscales":[1,2]}`)
	for _, method := range []string{"exact", "bbgp"} {
		ask := func(f func(r []float64), args ...string) (lml, err float64) {
			changed := make([][]float64, len(rows))
			for i, r := range rows {
				changed[i] = append([]float64{}, r...)
				f(changed[i])
			}
			m := object(t, want(t, exitOK, append([]string{"lml", csvOf(t, dir, "d.csv", "x1,x2,y", changed),
				"--target", "y", "--params", p, "--method", method, "--json"}, args...)...).out)
			return m["lml"].(float64), m["stderr"].(float64) + m["upper"].(float64) - m["lower"].(float64)
		}
		first, off := ask(func([]float64) {})
		for what, f := range map[string]func(r []float64){
			"y times 1000":          func(r []float64) { r[2] *= 1000 },
			"an input moved by 1e6": func(r []float64) { r[0] += 1e6 },
		} {
			if lml, _ := ask(f); math.Abs(lml-first) > 1e-3+5*off {
				t.Errorf("%s, %s: %v, before %v", method, what, lml, first)
			}
		}
		if lml, _ := ask(func([]float64) {}, "--threads", "3"); lml != first {
			t.Errorf("%s, three threads: %v, before %v", method, lml, first)
		}
		rand.New(rand.NewPCG(2, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if lml, more := ask(func([]float64) {}); math.Abs(lml-first) > 1e-3+5*(off+more) {
			t.Errorf("%s, another order: %v, before %v", method, lml, first)
		}
	}
}
