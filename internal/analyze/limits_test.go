package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

func limited(limits ...result.RunLimit) result.Run {
	r := runOf("set", "get")
	r.Limits = limits
	return r
}

// someTrouble is phase one: 800 sets in 8 s, between the 700th and the next an
// outage of 2 s with 5 errors and 3 unsent; gets run without a fault.
func someTrouble() []result.Interval {
	done := append(every(1, 0, 700), every(1, 900, 1000)...)
	set := fail(fail(okCell("set", 2000, done...), "refused", every(1, 700, 705)...), "unsent", 800, 801, 802)
	return whole(set, okCell("get", 1000, every(1, 0, 1000)...))
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name, metric string
		op           string
		want         float64
		ok           bool
		text         result.Limit // Want and Got
	}{
		{"latency below", "p99", "set", 0.003, true, result.Limit{Want: "<= 3ms", Got: "2ms"}},
		{"latency just met", "max", "set", 0.002, true, result.Limit{Want: "<= 2ms", Got: "2ms"}},
		{"latency above", "p50", "set", 0.0019, false, result.Limit{Want: "<= 1.9ms", Got: "2ms"}},
		{"outage just met", "outage", "set", 2, true, result.Limit{Want: "<= 2s", Got: "2s"}},
		{"outage too long", "outage", "set", 1.99, false, result.Limit{Want: "<= 1.99s", Got: "2s"}},
		{"no outage", "outage", "get", 1, true, result.Limit{Want: "<= 1s", Got: "0s"}},
		{"errors", "errors", "set", 4, false, result.Limit{Want: "<= 4", Got: "5"}},
		{"no errors", "errors", "get", 0, true, result.Limit{Want: "<= 0", Got: "0"}},
		{"unsent", "unsent", "set", 3, true, result.Limit{Want: "<= 3", Got: "3"}},
		{"rate reached", "rps", "set", 80, true, result.Limit{Want: ">= 80.0/s", Got: "80.0/s"}},
		{"rate not reached", "rps", "set", 80.1, false, result.Limit{Want: ">= 80.1/s", Got: "80.0/s"}},
		{"latency of an operation that never ran", "p99", "find", 10, false, result.Limit{Want: "<= 10s", Got: "no success"}},
		{"outage of an operation that never ran", "outage", "find", 10, false, result.Limit{Want: "<= 10s", Got: "no success"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := summary(t, limited(result.RunLimit{Op: tt.op, Metric: tt.metric, Want: tt.want}), someTrouble()...)
			tt.text.Name, tt.text.OK = tt.op+"."+tt.metric, tt.ok
			if s.Limits[0] != tt.text {
				t.Errorf("limit is %+v, want %+v", s.Limits[0], tt.text)
			}
			if verdict := map[bool]string{true: Pass, false: Fail}[tt.ok]; s.Verdict != verdict {
				t.Errorf("verdict is %s, want %s", s.Verdict, verdict)
			}
		})
	}
}

// TestAnOutageThatHasNotEndedIsNotKnown: the load ended before it did.
func TestAnOutageThatHasNotEndedIsNotKnown(t *testing.T) {
	lines := func() []result.Interval { return whole(okCell("set", 2000, every(1, 0, 800)...)) }
	run := limited(result.RunLimit{Op: "set", Metric: "outage", Want: 2})
	s := summary(t, run, lines()...)
	if want := (result.Limit{Name: "set.outage", Want: "<= 2s", Got: "2s, not ended", Unknown: true}); s.Limits[0] != want || s.Verdict != Incomplete {
		t.Errorf("limit is %+v, verdict %s", s.Limits[0], s.Verdict)
	}
	cut := lines()
	cut[len(cut)-1].End.Interrupted = true
	if s := summary(t, run, cut...); s.Limits[0].OK || !s.Limits[0].Unknown || s.Verdict != Incomplete {
		t.Errorf("interrupted: limit is %+v, verdict %s", s.Limits[0], s.Verdict)
	}
	run.Limits[0].Want = 1.9
	if s := summary(t, run, lines()...); s.Limits[0].OK || s.Limits[0].Unknown || s.Verdict != Fail {
		t.Errorf("too long already: limit is %+v, verdict %s", s.Limits[0], s.Verdict)
	}
}

func TestAFailedStepIsNoPass(t *testing.T) {
	lines := whole(okCell("set", 2000, every(1, 0, 1000)...))
	lines[len(lines)-1].End.FailedSteps = []string{"step 1, test_failover: refused"}
	if s := summary(t, limited(result.RunLimit{Op: "set", Metric: "outage", Want: 2}), lines...); s.Verdict != Incomplete {
		t.Errorf("verdict %s, limits %+v", s.Verdict, s.Limits)
	}
}

func TestLatencyLimitWithoutASuccessIsNotMet(t *testing.T) {
	run := limited(result.RunLimit{Op: "set", Metric: "p99", Want: 3600})
	dead := fail(result.Cell{Op: "set"}, "refused", every(1, 0, 1000)...)
	s := summary(t, run, whole(dead)...)
	if l := s.Limits[0]; l.OK || l.Got != "no success" || s.Verdict != Fail {
		t.Errorf("limit is %+v, verdict %s", l, s.Verdict)
	}
	// Nor where one phase of two had none, whichever comes first.
	alive := okCell("set", 1000, every(1, 0, 1000)...)
	for _, cells := range [][2]result.Cell{{dead, alive}, {alive, dead}} {
		s := summary(t, run,
			begin(0, 0, 10), interval(0, 0, 10, cells[0]), end(0, 0, 10, nil),
			begin(1, 10, 20), interval(1, 10, 20, cells[1]), end(1, 10, 20, nil), last(20))
		if s.Limits[0].OK {
			t.Errorf("limit is %+v", s.Limits[0])
		}
	}
}

func TestWorstPhaseIsJudgedAndErrorsAreAddedUp(t *testing.T) {
	slow := fail(okCell("set", 9000, every(2, 1000, 2000)...), "refused", 1001)
	fast := fail(okCell("set", 1000, every(1, 0, 1000)...), "reset", 1, 2)
	s := summary(t, limited(
		result.RunLimit{Op: "set", Metric: "max", Want: 1}, result.RunLimit{Op: "set", Metric: "rps", Want: 1},
		result.RunLimit{Op: "set", Metric: "errors", Want: 1}),
		begin(0, 0, 10), interval(0, 0, 10, fast), end(0, 0, 10, nil),
		begin(1, 10, 20), interval(1, 10, 20, slow), end(1, 10, 20, nil), last(20))
	got := []string{}
	for _, l := range s.Limits {
		got = append(got, l.Got)
	}
	if !slices.Equal(got, []string{"9ms", "50.0/s", "3"}) || s.Verdict != Fail {
		t.Errorf("got %v, verdict %s, want 9ms, 50.0/s, 3 and fail", got, s.Verdict)
	}
}

func TestNoLimitsAreNoVerdict(t *testing.T) {
	if s := summary(t, limited(), someTrouble()...); s.Verdict != None || len(s.Limits) != 0 {
		t.Errorf("verdict is %s", s.Verdict)
	}
}

// warned says whether exactly one warning has all of these words.
func warned(s result.Summary, words ...string) bool {
	n := 0
	for _, w := range s.Warnings {
		all := true
		for _, word := range words {
			all = all && strings.Contains(w, word)
		}
		if all {
			n++
		}
	}
	return n == 1
}

func TestDoubtsAreWarnedOf(t *testing.T) {
	clean := okCell("set", 1000, every(1, 0, 1000)...)
	gets := okCell("get", 1000, every(1, 0, 1000)...)
	lines := func(claimed map[string]uint64, cells ...result.Cell) []result.Interval {
		return []result.Interval{begin(0, 0, 10), interval(0, 0, 10, cells...), end(0, 0, 10, claimed), last(10)}
	}
	for _, tt := range []struct {
		name  string
		lines []result.Interval
		words []string // of the one warning; none: no warning at all
	}{
		{"nothing to doubt", lines(map[string]uint64{"set": 1000, "get": 1000}, clean, gets), nil},
		{"more claimed than recorded", lines(map[string]uint64{"set": 1001, "get": 1000}, clean, gets), []string{"1001 operations of set", "1000 are accounted for"}},
		{"fewer claimed than recorded", lines(map[string]uint64{"set": 999, "get": 1000}, clean, gets), []string{"999 operations of set", "1000 are accounted for"}},
		{"claimed, and nothing recorded", lines(map[string]uint64{"set": 1000, "get": 7}, clean), []string{"7 operations of get", "0 are accounted for"}},
		{"nothing came due", lines(map[string]uint64{"set": 1000}, clean), []string{"no operation of get came due"}},
		{"unsent", lines(nil, fail(clean, "unsent", 5, 6), gets), []string{"2 of 1002 operations of set were not sent"}},
		{"missing members", lines(nil, clean, fail(gets, "missing", 5)), []string{"1 operations of get missed members"}},
		{"killed", lines(nil, clean, gets)[:3], []string{"did not come to its end"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := summary(t, limited(), tt.lines...)
			if len(tt.words) == 0 && len(s.Warnings) > 0 || len(tt.words) > 0 && !warned(s, tt.words...) {
				t.Errorf("warnings are %q, want %q", s.Warnings, tt.words)
			}
		})
	}
}

func TestWarningsOfTheRunAreKept(t *testing.T) {
	run := limited()
	run.Warnings = []string{"known before"}
	lines := someTrouble()
	lines[len(lines)-1].End.Warnings = []string{"found out"}
	if s := summary(t, run, lines...); !warned(s, "known before") || !warned(s, "found out") {
		t.Errorf("warnings are %q", s.Warnings)
	}
}
