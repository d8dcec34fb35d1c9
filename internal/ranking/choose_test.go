package ranking

import (
	"fmt"
	"math"
	"testing"
)

// chiSquare is Pearson's statistic of observed counts against expected ones,
// and its degrees of freedom. Cells that expect fewer than 10 are pooled.
func chiSquare(observed []int, expected []float64) (x2, df float64) {
	cells, restO, restE := 0, 0.0, 0.0
	for i, e := range expected {
		if e < 10 {
			restO, restE = restO+float64(observed[i]), restE+e
			continue
		}
		cells++
		x2 += (float64(observed[i]) - e) * (float64(observed[i]) - e) / e
	}
	if restE > 0 {
		cells++
		x2 += (restO - restE) * (restO - restE) / restE
	}
	return x2, float64(cells - 1)
}

// checkLaw: the statistic has mean df and variance 2 df; five standard
// deviations are beyond chance, and the seed is fixed anyway.
func checkLaw(t *testing.T, observed []int, expected []float64) {
	t.Helper()
	if x2, df := chiSquare(observed, expected); math.Abs(x2-df) > 5*math.Sqrt(2*df) {
		t.Errorf("chi-square is %.1f with %.0f degrees of freedom", x2, df)
	}
	for i, e := range expected {
		if d := math.Abs(float64(observed[i]) - e); d > 6*math.Sqrt(e)+3 {
			t.Errorf("value %d was drawn %d times, expected %.1f", i, observed[i], e)
		}
	}
}

// zipfLaw is the exact expectation of each rank, from 0.
func zipfLaw(n int, exponent float64, draws int) []float64 {
	p, sum := make([]float64, n), 0.0
	for i := range p {
		p[i] = math.Pow(float64(i+1), -exponent)
		sum += p[i]
	}
	for i := range p {
		p[i] *= float64(draws) / sum
	}
	return p
}

func TestZipfDrawsByTheExactLaw(t *testing.T) {
	const draws = 60_000
	for _, n := range []int{1, 2, 3, 10, 1000} {
		for _, exponent := range []float64{0.01, 0.5, 0.99, 1, 1.000001, 1.5, 3} {
			t.Run(fmt.Sprintf("%d members exponent %v", n, exponent), func(t *testing.T) {
				z, observed := newZipf(int64(n), exponent), make([]int, n)
				for i := range uint64(draws) {
					s := NewStream(11, i)
					observed[z.draw(&s)-1]++
				}
				checkLaw(t, observed, zipfLaw(n, exponent, draws))
			})
		}
	}
}

func TestZipfKeepsTheLawOverManyMembers(t *testing.T) {
	const members, draws = 1_000_000, 50_000
	for _, exponent := range []float64{0.5, 0.99, 1, 1.5} {
		t.Run(fmt.Sprint(exponent), func(t *testing.T) {
			// Ranks by decade: 1, 2-10, 11-100, …
			decade := func(rank int64) int { return int(math.Ceil(math.Log10(float64(rank)))) }
			observed, expected := make([]int, 7), make([]float64, 7)
			for i, e := range zipfLaw(members, exponent, draws) {
				expected[decade(int64(i+1))] += e
			}
			z := newZipf(members, exponent)
			for i := range uint64(draws) {
				s := NewStream(5, i)
				observed[decade(z.draw(&s))]++
			}
			checkLaw(t, observed, expected)
		})
	}
}

func TestZipfScattersThePopularMembers(t *testing.T) {
	const members, draws = 1000, 100_000
	c, err := NewChooser(members, 1.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	observed, expected := make([]int, members), make([]float64, members)
	for i, e := range zipfLaw(members, 1.5, draws) {
		expected[c.perm.At(uint64(i))] = e
	}
	for i := range uint64(draws) {
		s := NewStream(2, i)
		observed[c.Choose(&s)]++
	}
	checkLaw(t, observed, expected)
	if c.perm == newRanking(t, members, members).perm {
		t.Error("fame follows the score: both use the same permutation")
	}
}

func TestUniformChoiceIsUniform(t *testing.T) {
	const members, draws = 1000, 200_000
	c, err := NewChooser(members, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	observed, expected := make([]int, members), make([]float64, members)
	for i := range uint64(draws) {
		s := NewStream(1, i)
		observed[c.Choose(&s)]++
	}
	for i := range expected {
		expected[i] = draws / members
	}
	checkLaw(t, observed, expected)
}

func TestExponentsOutOfBoundsAreRefused(t *testing.T) {
	for _, exponent := range []float64{-1, -0.001, 10.001, math.Inf(1), math.Inf(-1), math.NaN()} {
		if _, err := NewChooser(10, exponent, 1); err == nil {
			t.Errorf("exponent %v was taken", exponent)
		}
	}
}

func TestStreamIsAFunctionOfSeedAndNumber(t *testing.T) {
	draw := func(seed, n uint64) (out [4]uint64) {
		s := NewStream(seed, n)
		for i := range out {
			out[i] = s.Uint64()
		}
		return out
	}
	seen := map[[4]uint64]string{}
	for _, seed := range seeds {
		for n := range uint64(1000) {
			a := draw(seed, n)
			if a != draw(seed, n) {
				t.Fatalf("stream (%d, %d) differs from itself", seed, n)
			}
			at := fmt.Sprintf("(%d, %d)", seed, n)
			if other, ok := seen[a]; ok {
				t.Fatalf("streams %s and %s are equal", at, other)
			}
			seen[a] = at
		}
	}
}

func TestStreamStaysInItsBounds(t *testing.T) {
	s := NewStream(1, 1)
	for range 10_000 {
		if v := s.Below(1); v != 0 {
			t.Fatalf("Below(1) is %d", v)
		}
		if v := s.Below(3); v > 2 {
			t.Fatalf("Below(3) is %d", v)
		}
		if v := s.Float64(); !(v >= 0 && v < 1) {
			t.Fatalf("Float64 is %v", v)
		}
	}
}
