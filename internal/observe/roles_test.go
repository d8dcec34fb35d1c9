package observe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// word is what a node says, or does, at an offset in milliseconds.
type word func(r *roles)

func says(ms int, addr, name, primary string) word {
	return func(r *roles) { r.heard(addr, msec(ms), role{name: name, primary: primary}) }
}
func fails(ms int, addr string) word { return func(r *roles) { r.failed(addr, msec(ms)) } }
func takes(ms int, addr string) word { return func(r *roles) { r.wrote(addr, msec(ms)) } }

func msec(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

func TestRolesBecomeEvents(t *testing.T) {
	start := []word{says(0, "a", "primary", ""), says(0, "b", "replica", "a"), says(0, "c", "replica", "a")}
	for _, tt := range []struct {
		name    string
		cluster bool
		words   []word
		want    []string
	}{
		{"where things stand", true, nil, nil},
		{"failover", true, []word{
			fails(20, "a"), says(80, "b", "primary", ""), says(90, "c", "replica", "b"),
			says(900, "a", "primary", ""), says(920, "a", "replica", "b"),
		}, []string{"0.08 b is primary (was a)", "0.09 c is replica of b", "0.92 a is replica of b"}},
		{"the canary tells two primaries apart", true, []word{
			says(40, "b", "primary", ""), takes(41, "b"), says(60, "a", "primary", ""), says(60, "b", "primary", ""),
			says(80, "a", "replica", "b"),
		}, []string{"0.04 b is primary (was a)", "0.08 a is replica of b"}},
		{"told when the hung primary's question has run out, as of its first word", true, []word{
			says(40, "b", "primary", ""), says(60, "b", "primary", ""), fails(140, "a"),
		}, []string{"0.04 b is primary (was a)"}},
		{"the primary has stepped down", true, []word{says(40, "b", "primary", ""), says(50, "a", "replica", "b")}, []string{"0.05 a is replica of b", "0.04 b is primary (was a)"}},
		{"a replica's successor before it knows whom to copy", true, []word{
			fails(20, "b"), says(500, "b", "primary", ""), says(5000, "b", "primary", ""), says(5020, "b", "replica", "a"),
		}, nil},
		{"the same without cluster", false, []word{
			fails(20, "b"), says(500, "b", "primary", ""), takes(501, "b"), says(1400, "b", "primary", ""), says(1420, "b", "replica", "a"),
		}, nil},
		{"two primaries without cluster", false, []word{
			says(500, "b", "primary", ""), says(1490, "b", "primary", ""), says(1510, "b", "primary", ""), says(1520, "a", "primary", ""),
		}, []string{"0.50 b is primary (was a)"}},
		{"a replica that does not know its primary for a moment", true, []word{says(20, "b", "replica", ""), says(40, "b", "replica", "a")}, nil},
		{"another name of the same primary", true, []word{says(20, "b", "replica", "alias-of-a")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			r := newRoles(tt.cluster, unnamed)
			r.know(map[string]string{"alias-of-a": "a"})
			r.tellTo(func(e result.Event) { got = append(got, fmt.Sprintf("%.2f %s %s", e.AtS, e.Subject, e.Message)) })
			for _, w := range slices.Concat(start, tt.words) {
				w(r)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestFailuresAreChargedToWhatTheNodeWasFor: a dead primary fails writes until it has a successor.
func TestFailuresAreChargedToWhatTheNodeWasFor(t *testing.T) {
	r := newRoles(true, unnamed)
	r.tellTo(func(result.Event) {})
	if got := r.of("a"); got != "" {
		t.Errorf("never asked: %q", got)
	}
	says(0, "a", "primary", "")(r)
	says(0, "b", "replica", "a")(r)
	if got := r.of("c"); got == "" || len(cellsOf[got]) != 0 {
		t.Errorf("silent while others speak: %q", got)
	}
	fails(20, "a")(r)
	if got := r.of("a"); got != "primary" {
		t.Errorf("dead: %q", got)
	}
	says(40, "b", "primary", "")(r)
	if got := r.of("a"); len(cellsOf[got]) != 0 {
		t.Errorf("dead and succeeded: %q", got)
	}
	says(60, "a", "replica", "b")(r)
	if got := r.of("a"); got != "replica" {
		t.Errorf("back: %q", got)
	}
}
