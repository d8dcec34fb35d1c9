package ranking

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func newRanking(t testing.TB, members, spread int64) *Ranking {
	t.Helper()
	r, err := New(Spec{Key: "ranking", Members: members, ScoreSpread: spread, MemberFormat: DefaultMemberFormat, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScoresAreSpreadEvenly(t *testing.T) {
	for _, tt := range []struct{ members, spread int64 }{
		{1, 1}, {10, 1}, {10, 3}, {10, 10}, {1000, 7}, {1000, 999}, {999, 1000}, {12_345, 100}, {3, 10},
	} {
		t.Run(fmt.Sprintf("%d over %d", tt.members, tt.spread), func(t *testing.T) {
			r, perScore, ids, last := newRanking(t, tt.members, tt.spread), map[float64]int64{}, map[int64]bool{}, 0.0
			for pos := range tt.members {
				id, score := r.At(pos)
				if score < last || score != float64(int64(score)) || score >= float64(tt.spread) {
					t.Fatalf("At(%d) has score %v after %v", pos, score, last)
				}
				last = score
				perScore[score]++
				ids[id] = true
			}
			if int64(len(ids)) != tt.members {
				t.Errorf("%d different members, want %d", len(ids), tt.members)
			}
			floor, ceil := tt.members/tt.spread, (tt.members+tt.spread-1)/tt.spread
			for score := range tt.spread {
				if n := perScore[float64(score)]; n != floor && n != ceil {
					t.Errorf("score %d has %d members, want %d or %d", score, n, floor, ceil)
				}
			}
		})
	}
}

func TestMembersAreFoundByTheirNames(t *testing.T) {
	r := newRanking(t, 12_345, 100)
	for pos := range r.Members {
		id, score := r.At(pos)
		name := string(r.AppendMember(nil, id))
		if got, ok := r.MemberID(name); !ok || got != id {
			t.Fatalf("%q is member %d, %v, want %d", name, got, ok, id)
		}
		if got := r.InitialScore(id); got != score {
			t.Fatalf("member %d is filled with %v, and At says %v", id, got, score)
		}
	}
	for _, name := range []string{string(r.AppendMember(nil, r.Members)), "player:1", "somebody"} {
		if id, ok := r.MemberID(name); ok {
			t.Errorf("%q is member %d", name, id)
		}
	}
}

func TestScoresAreExactWhereTheProductOverflows(t *testing.T) {
	r := newRanking(t, MaxMembers, MaxScoreSpread)
	positions := []int64{0, 1, 2, 3, 1 << 11, 1 << 12, 1 << 31, MaxMembers / 2, MaxMembers - 2, MaxMembers - 1}
	s := NewStream(1, 1)
	for range 1000 {
		positions = append(positions, int64(s.Below(MaxMembers)))
	}
	for _, pos := range positions {
		want := new(big.Int).Mul(big.NewInt(pos), big.NewInt(MaxScoreSpread))
		want.Quo(want, big.NewInt(MaxMembers))
		id, score := r.At(pos)
		if score != float64(want.Int64()) || int64(score) != want.Int64() {
			t.Errorf("At(%d) has score %v, want %v", pos, score, want)
		}
		if id < 0 || id >= MaxMembers {
			t.Errorf("At(%d) is member %d", pos, id)
		}
	}
}

func TestEveryImpossibleValueIsNamedAtOnce(t *testing.T) {
	_, err := New(Spec{Key: "{x", Members: 0, ScoreSpread: MaxScoreSpread + 1, MemberFormat: "player"})
	if err == nil {
		t.Fatal("an impossible spec was taken")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, key := range []string{"key: ", "members: ", "score_spread: ", "member_format: "} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], key) {
			t.Errorf("line %d of the error does not begin with %q:\n%v", i+1, key, err)
		}
	}
}

func TestBoundsOfASpec(t *testing.T) {
	good := Spec{Key: "ranking", Members: 10, ScoreSpread: 10, MemberFormat: "%d"}
	for _, tt := range []struct {
		name   string
		change func(*Spec)
		ok     bool
	}{
		{"most members", func(s *Spec) { s.Members = MaxMembers }, true},
		{"too many members", func(s *Spec) { s.Members = MaxMembers + 1 }, false},
		{"no member", func(s *Spec) { s.Members = 0 }, false},
		{"widest spread", func(s *Spec) { s.ScoreSpread = MaxScoreSpread }, true},
		{"spread beyond exact doubles", func(s *Spec) { s.ScoreSpread = MaxScoreSpread + 1 }, false},
		{"no score", func(s *Spec) { s.ScoreSpread = 0 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := good
			tt.change(&s)
			if _, err := New(s); (err == nil) != tt.ok {
				t.Errorf("New gives %v, want ok=%v", err, tt.ok)
			}
		})
	}
}

// slot is the hash slot of a key by the Redis Cluster specification: CRC16
// (XMODEM: polynomial 0x1021, from 0) of the hash tag, which is what stands
// between the first { and the first } after it if that is not empty, and of
// the whole key otherwise; modulo 16384.
func slot(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestSlotsOfTheTestAreRedisClusters(t *testing.T) {
	// From the specification (CRC16 of "123456789" is 0x31C3), and CLUSTER KEYSLOT.
	for key, want := range map[string]uint16{"123456789": 0x31C3, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "": 0} {
		if got := slot(key); got != want {
			t.Errorf("slot of %q is %d, want %d", key, got, want)
		}
	}
}

var keys = []struct {
	name, key string
	ok        bool
}{
	{"plain", "ranking", true},
	{"tag", "{game}:ranking", true},
	{"tag at the end", "ranking:{game}", true},
	{"two tags", "{a}{b}", true},
	{"brace in the tag", "{{a}}", true},
	{"closing brace before the tag", "a}{b}", true},
	{"binary", "\x00\xff", true},
	{"empty", "", false},
	{"empty tag", "{}", false},
	{"empty tag before a tag", "{}{a}", false},
	{"lone opening brace", "a{b", false},
	{"lone closing brace", "a}b", false},
	{"braces the wrong way round", "}a{", false},
}

func TestMarkerKeyIsInTheKeysSlot(t *testing.T) {
	for _, tt := range keys {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckKey(tt.key)
			if (err == nil) != tt.ok {
				t.Fatalf("CheckKey gives %v, want ok=%v", err, tt.ok)
			}
			if marker := MarkerKey(tt.key); tt.ok && slot(marker) != slot(tt.key) {
				t.Errorf("marker %q is in slot %d, the key in %d", marker, slot(marker), slot(tt.key))
			}
		})
	}
}

func FuzzMarkerKeyIsInTheKeysSlot(f *testing.F) {
	for _, tt := range keys {
		f.Add(tt.key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) != nil {
			return
		}
		marker := MarkerKey(key)
		if marker == key {
			t.Errorf("%q is its own marker", key)
		}
		if slot(marker) != slot(key) {
			t.Errorf("marker %q of %q is in slot %d, the key in %d", marker, key, slot(marker), slot(key))
		}
	})
}
