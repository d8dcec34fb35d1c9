package ranking

import "math/bits"

// Stream is a short sequence of random numbers that is a pure function of
// (seed, n): operation n of a phase draws all it needs from its own Stream, so
// that it is the same whichever worker runs it and whenever. It is splitmix64
// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
// 2014); a Stream lives on the stack and costs about a nanosecond a number.
type Stream struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

// NewStream returns the stream of number n under seed.
func NewStream(seed, n uint64) Stream { return Stream{mix(mix(seed+golden) + n*golden)} }

// Uint64 returns the next number, uniform on 64 bits.
func (s *Stream) Uint64() uint64 {
	s.state += golden
	return mix(s.state)
}

// Below returns the next number, uniform on 0 … n-1. The bias of the
// multiply-shift method is n/2^64: below 1e-9 for any ranking.
func (s *Stream) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.Uint64(), n)
	return hi
}

// Float64 returns the next number, uniform on [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// mix is splitmix64's finalizer, a bijection of 64 bits.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
