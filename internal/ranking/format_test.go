package ranking

import (
	"fmt"
	"math"
	"testing"
)

var formats = []string{
	"%d", DefaultMemberFormat, "u-%8d-x", "%01d", "%1d", "100%% %d", "%d%%", "%%d%d", "%007d", "é%3d", "%512d", "%0512d", "d%dd", "\xff%d\x00",
}

func TestMembersAreWhatFmtWouldMake(t *testing.T) {
	ids := []int64{0, 1, 9, 10, 99, 100, 999_999_999, 1_000_000_000, MaxMembers - 1, math.MaxInt64}
	s := NewStream(1, 1)
	for range 200 {
		ids = append(ids, int64(s.Uint64()>>(1+s.Below(62))))
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			f, err := ParseFormat(format)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if got, want := string(f.Append([]byte("x"), id)), "x"+fmt.Sprintf(format, id); got != want {
					t.Errorf("%d gives %q, want %q", id, got, want)
				}
			}
		})
	}
}

func TestBadMemberFormatsAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, format string }{
		{"empty", ""},
		{"no verb", "player"},
		{"only an escape", "%%d"},
		{"two verbs", "%d%d"},
		{"other verb", "%s"},
		{"other verb before", "%x%d"},
		{"lone percent", "%d%"},
		{"no letter", "%5"},
		{"sign", "%+d"},
		{"left aligned", "%-5d"},
		{"space", "% d"},
		{"precision", "%.3d"},
		{"star", "%*d"},
		{"index", "%[1]d"},
		{"zero without a width", "%0d"},
		{"wider than a member may be", "%513d"},
		{"width out of all bounds", "%99999999999999999999d"},
		{"digits of another script", "%٣d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := ParseFormat(tt.format); err == nil {
				t.Errorf("%q was taken; 7 gives %q", tt.format, f.Append(nil, 7))
			}
		})
	}
}

func FuzzMembersAreWhatFmtWouldMake(f *testing.F) {
	for i, format := range formats {
		f.Add(format, int64(1)<<(i*4))
	}
	f.Fuzz(func(t *testing.T, format string, id int64) {
		id &= math.MaxInt64
		parsed, err := ParseFormat(format)
		if err != nil {
			return
		}
		if got, want := string(parsed.Append(nil, id)), fmt.Sprintf(format, id); got != want {
			t.Errorf("%q of %d gives %q, want %q", format, id, got, want)
		}
	})
}
