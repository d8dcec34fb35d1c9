package ranking

import (
	"fmt"
	"testing"
)

// seeds are three that have nothing in common.
var seeds = []uint64{0, 1, 0xdeadbeefcafef00d}

func TestPermutationIsABijectionOfEverySmallDomain(t *testing.T) {
	for n := uint64(1); n <= 300; n++ {
		for _, seed := range seeds {
			checkBijection(t, n, seed)
		}
	}
}

func TestPermutationIsABijectionOfLargerDomains(t *testing.T) {
	for _, n := range []uint64{1000, 1023, 1024, 1025, 4097, 65_535, 65_536, 65_537, 100_003} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { checkBijection(t, n, 42) })
	}
}

// checkBijection: n values below n, none twice.
func checkBijection(t *testing.T, n, seed uint64) {
	t.Helper()
	p, seen := NewPermutation(n, seed), make([]bool, n)
	for i := range n {
		v := p.At(i)
		if v >= n {
			t.Fatalf("n=%d seed=%d: At(%d) is %d, not below n", n, seed, i, v)
		}
		if seen[v] {
			t.Fatalf("n=%d seed=%d: At(%d) is %d, which came before", n, seed, i, v)
		}
		seen[v] = true
		if back := p.Of(v); back != i {
			t.Fatalf("n=%d seed=%d: Of(At(%d)) is %d", n, seed, i, back)
		}
	}
}

func TestPermutationStaysInTheLargestDomain(t *testing.T) {
	p, seen := NewPermutation(MaxMembers, 7), map[uint64]bool{}
	for _, i := range []uint64{0, 1, 2, 1 << 16, 1 << 31, MaxMembers / 2, MaxMembers - 2, MaxMembers - 1} {
		v := p.At(i)
		if v >= MaxMembers || seen[v] {
			t.Errorf("At(%d) is %d: out of the domain, or twice", i, v)
		}
		seen[v] = true
	}
}

func TestSeedsGiveDifferentPermutations(t *testing.T) {
	const n = 1000
	a, b, again := NewPermutation(n, 1), NewPermutation(n, 2), NewPermutation(n, 1)
	same := 0
	for i := range uint64(n) {
		if a.At(i) != again.At(i) {
			t.Fatalf("the same seed gives %d and %d at %d", a.At(i), again.At(i), i)
		}
		if a.At(i) == b.At(i) {
			same++
		}
	}
	// Two random permutations agree in one place on average.
	if same > 10 {
		t.Errorf("permutations of two seeds agree in %d of %d places", same, n)
	}
}

func TestPermutationLeavesFewValuesInPlace(t *testing.T) {
	const n = 10_000
	p, fixed, next := NewPermutation(n, 3), 0, 0
	for i := range uint64(n) {
		if p.At(i) == i {
			fixed++
		}
		if i > 0 && p.At(i) == p.At(i-1)+1 {
			next++
		}
	}
	// A random permutation has one fixed point and one pair of neighbours on average.
	if fixed > 10 || next > 10 {
		t.Errorf("%d fixed points and %d neighbours that stayed neighbours: not scattered", fixed, next)
	}
}
