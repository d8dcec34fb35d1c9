package ranking

import "math/bits"

// Permutation is a bijection of 0 … n-1 onto itself that needs no memory: a
// balanced Feistel network over the smallest even number of bits that holds
// n-1, walked along its cycle until the value falls below n (Black and Rogaway,
// "Ciphers with Arbitrary Finite Domains", 2002). The walk takes under four
// steps on average, since the domain is under four times n.
type Permutation struct {
	n    uint64
	half uint   // bits of each side
	mask uint64 // of one side
	keys [rounds]uint64
}

// rounds: four make a Feistel network statistically good (Luby and Rackoff);
// nothing here needs secrecy.
const rounds = 4

// NewPermutation returns the bijection of 0 … n-1 that belongs to seed; n is at least 1.
func NewPermutation(n, seed uint64) Permutation {
	half := (uint(bits.Len64(n-1)) + 1) / 2
	half = max(half, 1)
	p := Permutation{n: n, half: half, mask: 1<<half - 1}
	s := NewStream(seed, permutationSalt)
	for i := range p.keys {
		p.keys[i] = s.Uint64()
	}
	return p
}

const permutationSalt = 0x7065726d // "perm"

// At returns the image of i, which must be below n.
func (p Permutation) At(i uint64) uint64 {
	for {
		i = p.once(i)
		if i < p.n {
			return i
		}
	}
}

// Of is the inverse of At: the i whose image is v, which must be below n.
func (p Permutation) Of(v uint64) uint64 {
	for {
		v = p.onceBack(v)
		if v < p.n {
			return v
		}
	}
}

func (p Permutation) once(x uint64) uint64 {
	l, r := x>>p.half, x&p.mask
	for _, k := range p.keys {
		l, r = r, l^(mix(r^k)&p.mask)
	}
	return l<<p.half | r
}

func (p Permutation) onceBack(x uint64) uint64 {
	l, r := x>>p.half, x&p.mask
	for i := len(p.keys) - 1; i >= 0; i-- {
		l, r = r^(mix(l^p.keys[i])&p.mask), l
	}
	return l<<p.half | r
}
