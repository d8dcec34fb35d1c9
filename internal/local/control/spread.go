package control

import (
	"slices"
	"strconv"
	"strings"
)

// load is how many slots a shard has.
type load struct {
	shard string
	slots int
}

// move is a number of slots on their way from one shard to another.
type move struct {
	from, to string
	slots    int
}

// spread plans the fewest slots to move such that those that stay have equally
// many, but for one, and those that leave have none.
func spread(stay, leave []load) []move {
	total := 0
	for _, l := range slices.Concat(stay, leave) {
		total += l.slots
	}
	givers := slices.Clone(leave)
	var takers []load
	// The shards with the most slots keep the odd ones: so nothing moves that need not.
	slices.SortStableFunc(stay, func(a, b load) int { return b.slots - a.slots })
	for i, l := range stay {
		want := total / len(stay)
		if i < total%len(stay) {
			want++
		}
		switch {
		case l.slots > want:
			givers = append(givers, load{l.shard, l.slots - want})
		case l.slots < want:
			takers = append(takers, load{l.shard, want - l.slots})
		}
	}
	return match(givers, takers)
}

// match gives what the givers have to the takers, one after the other.
func match(givers, takers []load) []move {
	var moves []move
	for len(givers) > 0 && len(takers) > 0 {
		g, t := &givers[0], &takers[0]
		if n := min(g.slots, t.slots); n > 0 {
			moves = append(moves, move{g.shard, t.shard, n})
			g.slots -= n
			t.slots -= n
		}
		if g.slots == 0 {
			givers = givers[1:]
		}
		if t.slots == 0 {
			takers = takers[1:]
		}
	}
	return moves
}

// countSlots counts the slots of "0-5460,10923-16383".
func countSlots(text string) int {
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA == nil && errB == nil {
			n += b - a + 1
		}
	}
	return n
}
