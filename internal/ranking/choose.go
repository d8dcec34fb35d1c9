package ranking

import "fmt"

// Chooser draws member ids. The zero value is not usable; see NewChooser.
type Chooser struct {
	n    uint64
	zipf *zipf // nil for uniform
	perm Permutation
}

// NewChooser returns a chooser over the ids 0 … members-1: uniform where
// exponent is 0, by Zipf's law with that exponent otherwise. Under Zipf the
// popular members are scattered over the ranking by a permutation of their
// own, since fame and score need not go together.
func NewChooser(members int64, exponent float64, seed uint64) (Chooser, error) {
	c := Chooser{n: uint64(members)}
	if exponent == 0 {
		return c, nil
	}
	if !(exponent > 0 && exponent <= maxZipfExponent) {
		return c, fmt.Errorf("zipf: exponent %v is not in 0 … %v", exponent, maxZipfExponent)
	}
	c.zipf = newZipf(members, exponent)
	c.perm = NewPermutation(c.n, seed^zipfSalt)
	return c, nil
}

const zipfSalt = 0x7a697066 // "zipf"

// Choose draws one id from the stream.
func (c *Chooser) Choose(s *Stream) int64 {
	if c.zipf == nil {
		return int64(s.Below(c.n))
	}
	return int64(c.perm.At(uint64(c.zipf.draw(s) - 1)))
}
