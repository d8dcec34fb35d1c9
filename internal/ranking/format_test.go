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
				if got, ok := f.Parse(string(f.Append(nil, id))); !ok || got != id {
					t.Errorf("%q is read as %d, %v, want %d", f.Append(nil, id), got, ok, id)
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

func TestNamesOfNoMemberAreRefused(t *testing.T) {
	for _, tt := range []struct{ format, name string }{
		{"%d", ""}, {"%d", "x"}, {"%d", "-1"}, {"%d", "+1"}, {"%d", "01"}, {"%d", " 1"}, {"%d", "1 "}, {"%d", "1x2"},
		{"%d", "9223372036854775808"}, {"%d", "18446744073709551617"}, {"%d", "99999999999999999999"},
		{"p%03d", "p1"}, {"p%03d", "p01"}, {"p%03d", "p0001"}, {"p%03d", "p0123"}, {"p%03d", "p 01"}, {"p%03d", "q001"}, {"p%03d", "p"},
		{"p%3d", "p001"}, {"p%3d", "p   "}, {"p%3d", "p 1"}, {"p%3d", "p  01"}, {"p%3d", "p 01"}, {"p%3d", "p 1 "},
		{"a%da", "a"}, {"a%da", "aa"}, {"a%db", "a1"}, {"a%db", "a1c"},
	} {
		f, err := ParseFormat(tt.format)
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := f.Parse(tt.name); ok {
			t.Errorf("%q: %q is read as member %d", tt.format, tt.name, id)
		}
	}
}

func FuzzParseIsTheInverseOfAppend(f *testing.F) {
	for i, format := range formats {
		f.Add(format, int64(1)<<(i*4), "player:000000001")
	}
	f.Fuzz(func(t *testing.T, format string, id int64, name string) {
		id &= math.MaxInt64
		parsed, err := ParseFormat(format)
		if err != nil {
			return
		}
		made := string(parsed.Append(nil, id))
		if got, ok := parsed.Parse(made); !ok || got != id {
			t.Errorf("%q: %q is read as %d, %v, want %d", format, made, got, ok, id)
		}
		if got, ok := parsed.Parse(name); ok && string(parsed.Append(nil, got)) != name {
			t.Errorf("%q: %q is read as %d, which is %q", format, name, got, parsed.Append(nil, got))
		}
	})
}
