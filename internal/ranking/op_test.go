package ranking

import (
	"fmt"
	"slices"
	"testing"
)

func TestKindNamesRoundTrip(t *testing.T) {
	if n := len(Kinds()); n != NumKinds {
		t.Fatalf("Kinds lists %d of %d", n, NumKinds)
	}
	for _, k := range Kinds() {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%s is read as %v, %v", k, got, ok)
		}
	}
	if k, ok := ParseKind("zadd"); ok {
		t.Errorf("zadd is read as %s", k)
	}
}

func TestOpIsReusedWithoutAllocation(t *testing.T) {
	r := newRanking(t, 1_000_000, 1000)
	c, err := NewChooser(r.Members, 0.99, 1)
	if err != nil {
		t.Fatal(err)
	}
	var op Op
	n := uint64(0)
	if allocs := testing.AllocsPerRun(100, func() {
		s := NewStream(1, n)
		op.SetMember(r, c.Choose(&s))
		n++
	}); allocs != 0 {
		t.Errorf("SetMember allocates %v times", allocs)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		s := NewStream(1, n)
		op.SetMembers(r, 50, &c, &s)
		n++
	}); allocs != 0 {
		t.Errorf("SetMembers allocates %v times", allocs)
	}
}

func TestOpHoldsWhatItWasFilledWithLast(t *testing.T) {
	r := newRanking(t, 1_000_000, 1000)
	c, err := NewChooser(r.Members, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var op Op
	// Growing and shrinking, so that the buffer moves while members are added.
	for i, count := range []int{1, 3, 200, 2, 0, 500, 500} {
		s, same := NewStream(1, uint64(i)), NewStream(1, uint64(i))
		op.SetMembers(r, count, &c, &s)
		want := []string{}
		for range count {
			want = append(want, fmt.Sprintf(DefaultMemberFormat, c.Choose(&same)))
		}
		if !slices.Equal(op.Members, want) {
			t.Errorf("fill %d: members are %v, want %v", i, op.Members, want)
		}
		op.SetMember(r, int64(i))
		if want := fmt.Sprintf(DefaultMemberFormat, i); op.Member != want {
			t.Errorf("fill %d: member is %q, want %q", i, op.Member, want)
		}
	}
}

// TestRanksAreOneMoreThanTheMembersAbove holds Ranks to the definition, over
// random rankings with many ties and every page of them.
func TestRanksAreOneMoreThanTheMembersAbove(t *testing.T) {
	var into []int64
	for seed := range uint64(200) {
		s := NewStream(seed, 0)
		scores := make([]float64, 1+s.Below(40))
		for i := range scores {
			scores[i] = float64(s.Below(1+s.Below(20))) - 5
		}
		slices.SortFunc(scores, func(a, b float64) int { return int(b - a) })
		for start := range scores {
			end := start + 1 + int(s.Below(uint64(len(scores)-start)))
			page := scores[start:end]
			into = Ranks(into, page, int64(start), above(scores, page[0]))
			if want := ranksByCounting(scores, page); !slices.Equal(into, want) {
				t.Fatalf("%v from %d: ranks are %v, want %v", scores, start, into, want)
			}
		}
	}
	if got := Ranks([]int64{1, 2}, nil, 0, 0); len(got) != 0 {
		t.Errorf("an empty page has ranks %v", got)
	}
}

func above(scores []float64, than float64) int64 {
	n := int64(0)
	for _, s := range scores {
		if s > than {
			n++
		}
	}
	return n
}

func ranksByCounting(scores, page []float64) []int64 {
	var out []int64
	for _, s := range page {
		out = append(out, above(scores, s)+1)
	}
	return out
}
