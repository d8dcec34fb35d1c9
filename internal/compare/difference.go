package compare

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// alpha is the p up to which a difference is more than noise, as in benchstat.
const alpha = 0.05

// Verdict says whether two groups differ in a figure.
type Verdict string

// The verdicts.
const (
	// Differs: the U test's p is alpha or less.
	Differs Verdict = "differs"
	// Noise: there are enough runs for the U test, and its p is above alpha.
	Noise Verdict = "noise"
	// Apart: so few runs that no p could be alpha or less, but three or more of each, and their ranges are
	// as far from each other as the wider one is wide, or further. Of two groups of three that do not differ,
	// about one in a hundred does that by chance (40,000 draws each from normal, uniform, exponential and
	// log-normal distributions: 0.6 to 1.3 %; of three and four 0.2 to 0.4 %).
	Apart Verdict = "apart"
	// CannotTell: so few runs that no p could be alpha or less, and they are not apart.
	CannotTell Verdict = "cannot_tell"
	// Equal: all values of both are the same.
	Equal Verdict = "equal"
)

// fewest is how many runs a side needs for Apart: of two, the range says little.
const fewest = 3

// Difference is what the Mann–Whitney U test and the ranges say of two groups.
type Difference struct {
	Verdict Verdict `json:"verdict"`
	P       float64 `json:"p"`      // of the U test, two-sided, exact for small groups
	BestP   float64 `json:"best_p"` // what p would be, had the ranges nothing in common
	// Gap is what lies between the two ranges, in widths of the wider one. It is absent where they
	// overlap, and where neither has a width.
	Gap     *float64 `json:"gap,omitempty"`
	Overlap bool     `json:"overlap"` // the ranges have a value in common
	N1      int      `json:"n1"`      // runs of the base
	N2      int      `json:"n2"`
}

// differ holds the values of a group against those of the base.
func differ(base, other []float64) Difference {
	d := Difference{N1: len(base), N2: len(other), P: uTest(base, other), BestP: bestP(len(base), len(other))}
	gap := max(slices.Min(other)-slices.Max(base), slices.Min(base)-slices.Max(other))
	width := max(slices.Max(base)-slices.Min(base), slices.Max(other)-slices.Min(other))
	d.Overlap = gap <= 0
	if gap > 0 && width > 0 {
		d.Gap = new(gap / width)
	}
	switch {
	case gap == 0 && width == 0:
		d.Verdict = Equal
	case d.P <= alpha:
		d.Verdict = Differs
	case d.BestP <= alpha:
		d.Verdict = Noise
	case gap > 0 && gap >= width && min(d.N1, d.N2) >= fewest:
		d.Verdict = Apart
	default:
		d.Verdict = CannotTell
	}
	return d
}

// uTest is the p of the Mann–Whitney U test, 1 where all values are the same.
func uTest(a, b []float64) float64 {
	sample := func(v []float64) *benchmath.Sample { // it sorts what it is given
		return benchmath.NewSample(slices.Clone(v), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
}

// bestP is the least p that groups of these sizes can have.
func bestP(n1, n2 int) float64 {
	all := make([]float64, n1+n2)
	for i := range all {
		all[i] = float64(i)
	}
	return uTest(all[:n1], all[n1:])
}
