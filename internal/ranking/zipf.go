package ranking

import "math"

// maxZipfExponent is where practically every draw is the first member.
const maxZipfExponent = 10.0

// zipf draws ranks 1 … n with probability proportional to 1/rank^exponent, by
// rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", 1996). math/rand's Zipf needs
// an exponent above 1 and its own generator; leaderboards are often below 1.
type zipf struct {
	n              float64
	exponent       float64
	hX1, hN, guard float64
}

func newZipf(n int64, exponent float64) *zipf {
	z := &zipf{n: float64(n), exponent: exponent}
	z.hX1 = z.hIntegral(1.5) - 1
	z.hN = z.hIntegral(z.n + 0.5)
	z.guard = 2 - z.hIntegralInverse(z.hIntegral(2.5)-z.h(2))
	return z
}

// draw returns a rank. It takes a bounded number of numbers from the stream on
// average (under 1.5); each rejection takes one more.
func (z *zipf) draw(s *Stream) int64 {
	for {
		u := z.hN + s.Float64()*(z.hX1-z.hN)
		x := z.hIntegralInverse(u)
		k := math.Floor(x + 0.5)
		k = min(max(k, 1), z.n)
		if k-x <= z.guard || u >= z.hIntegral(k+0.5)-z.h(k) {
			return int64(k)
		}
	}
}

func (z *zipf) h(x float64) float64 { return math.Exp(-z.exponent * math.Log(x)) }

// hIntegral is the integral of h, (x^(1-e) - 1)/(1-e), or log x where e is 1.
func (z *zipf) hIntegral(x float64) float64 {
	l := math.Log(x)
	return expm1x((1-z.exponent)*l) * l
}

func (z *zipf) hIntegralInverse(x float64) float64 {
	t := max(x*(1-z.exponent), -1) // rounding may take it a little below -1
	return math.Exp(log1px(t) * x)
}

// log1px is log(1+x)/x, continued at 0.
func log1px(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}

// expm1x is (exp(x)-1)/x, continued at 0.
func expm1x(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}
