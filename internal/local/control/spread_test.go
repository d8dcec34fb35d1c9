package control

import (
	"fmt"
	"testing"
	"testing/quick"
)

// TestSpreadLeavesEqualSharesAndMovesNothingTwice plays the moves.
func TestSpreadLeavesEqualSharesAndMovesNothingTwice(t *testing.T) {
	check := func(stays, leaves []uint16) bool {
		if len(stays) == 0 {
			stays = []uint16{7}
		}
		var stay, leave []load
		has, total := map[string]int{}, 0
		for i, n := range stays {
			stay = append(stay, load{fmt.Sprintf("s%d", i), int(n)})
		}
		for i, n := range leaves {
			leave = append(leave, load{fmt.Sprintf("l%d", i), int(n)})
		}
		for _, l := range append(append([]load{}, stay...), leave...) {
			has[l.shard] = l.slots
			total += l.slots
		}
		received := map[string]bool{}
		for _, m := range spread(stay, leave) {
			if received[m.from] || m.slots <= 0 {
				return false
			}
			received[m.to] = true
			has[m.from] -= m.slots
			has[m.to] += m.slots
		}
		for shard, n := range has {
			share := total / len(stays)
			if shard[0] == 'l' && n != 0 || shard[0] == 's' && n != share && n != share+1 {
				return false
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func TestSpreadOfFieldReports(t *testing.T) {
	for _, row := range []struct {
		name        string
		stay, leave []load
		want        string
	}{
		{"a shard added", []load{{"0001", 16384}, {"0002", 0}}, nil, "[{0001 0002 8192}]"},
		{"a shard removed", []load{{"0001", 8192}}, []load{{"0002", 8192}}, "[{0002 0001 8192}]"},
		{"even already", []load{{"0001", 5461}, {"0002", 5461}, {"0003", 5462}}, nil, "[]"},
	} {
		if got := fmt.Sprint(spread(row.stay, row.leave)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestSlotsAreCountedAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0-16383": 16384, "0-5460,10923-16383": 10922, "7": 1, "1,3-4": 3} {
		if got := countSlots(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
