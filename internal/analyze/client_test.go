package analyze

import (
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// selves is phase 0 from 0 to 10 s with a sample of the tool each second, made by change.
func selves(change func(second int, s *result.SelfSample)) []result.Interval {
	lines := []result.Interval{begin(0, 0, 10)}
	for i := range 11 {
		at := float64(i)
		s := &result.SelfSample{AtS: at, CPUSeconds: at * 0.1, HostCPUPct: 20, RSSBytes: 1000, Commands: uint64(i) * 1000}
		change(i, s)
		iv := interval(0, max(0, at-1), at)
		iv.Self = s
		lines = append(lines, iv)
	}
	return append(lines, end(0, 0, 10, nil), last(10))
}

func TestBottleneck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(second int, s *result.SelfSample)
		word   string // of the reason; "" for none
	}{
		{"idle", func(int, *result.SelfSample) {}, ""},
		{"own processors full for half of the time", func(i int, s *result.SelfSample) { s.CPUSeconds = 1.9 * float64(min(i, 5)) }, "used its 2 processors to 90 % or more for 5 of 10 s"},
		{"own processors full for less", func(i int, s *result.SelfSample) { s.CPUSeconds = 1.9 * float64(min(i, 4)) }, ""},
		{"one of two processors", func(i int, s *result.SelfSample) { s.CPUSeconds = float64(i) }, ""},
		{"host full for half of the time", func(i int, s *result.SelfSample) { s.HostCPUPct = map[bool]float64{true: 95, false: 10}[i <= 5] }, "the host's processors were at 90 % or more for 5 of 10 s"},
		{"host full for less", func(i int, s *result.SelfSample) { s.HostCPUPct = map[bool]float64{true: 95, false: 10}[i <= 4] }, ""},
		{"host not known", func(_ int, s *result.SelfSample) { s.HostCPUPct = -1 }, ""},
		{"one in ten commands waits for the pool", func(i int, s *result.SelfSample) { s.PoolWaits = uint64(100 * i) }, "1000 of 10000 commands waited"},
		{"one in twenty", func(i int, s *result.SelfSample) { s.PoolWaits = uint64(50 * i) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := runOf("set")
			run.Limits = []result.RunLimit{{Metric: MetricBottleneck}}
			s := summary(t, run, selves(tt.change)...)
			if want := tt.word != ""; s.Client.Bottleneck != want || s.Limits[0].OK == want || warned(s, "bottleneck", tt.word) != want {
				t.Errorf("bottleneck=%v (%s), limit %+v, warnings %q", s.Client.Bottleneck, s.Client.Reason, s.Limits[0], s.Warnings)
			}
			run.Local = true
			if s := summary(t, run, selves(tt.change)...); warned(s, "share this host", tt.word) != (tt.word != "") {
				t.Errorf("on the servers' host: warnings are %q", s.Warnings)
			}
		})
	}
}

func TestClientIsOfTheMeasuredPartsAlone(t *testing.T) {
	lines := selves(func(i int, s *result.SelfSample) {
		s.CPUSeconds = map[bool]float64{true: 2 * float64(i), false: 10 + 0.5*float64(i-5)}[i <= 5]
		s.PoolWaits, s.GCCycles, s.SchedP99US = uint64(min(i, 5))*1000, uint64(10+i), 100
		s.RSSBytes = uint64(1000 + i)
		if i <= 5 {
			s.SchedP99US, s.HostCPUPct = 9000, 100
		}
	})
	lines[0] = begin(0, 5, 10) // a warm-up of 5 s
	lines[len(lines)-2] = end(0, 5, 10, nil)
	s := summary(t, runOf("set"), lines...)
	c := s.Client
	if c.CPUPct != 50 || c.PoolWaits != 0 || c.GCCycles != 5 || c.SchedUSP99 != 100 || c.HostCPUPct != 20 || c.Bottleneck {
		t.Errorf("client is %+v", c)
	}
	if c.Commands != 10_000 || c.RSSBytes != 1010 || !near(c.CPUUSPerCommand, 500) {
		t.Errorf("commands %d, memory %d, %v µs a command", c.Commands, c.RSSBytes, c.CPUUSPerCommand)
	}
	if warned(s, "did not run") {
		t.Errorf("warnings are %q", s.Warnings)
	}
}

func TestOutageInWhichRankbenchDidNotRunIsNotTheServices(t *testing.T) {
	run := runOf("set")
	run.Limits = []result.RunLimit{{Op: "set", Metric: "outage", Want: 1}}
	paused := func(pauses ...result.Pause) result.Summary {
		lines := []result.Interval{begin(0, 0, 10)}
		for i := 1; i <= 10; i++ {
			at := float64(i)
			iv := result.Interval{FromS: at - 1, ToS: at, Self: &result.SelfSample{AtS: at, HostCPUPct: -1}}
			if i <= 4 || i >= 7 { // no success from 4 s to 6 s
				n := make([]uint32, 100)
				for b := range n {
					n[b] = 1
				}
				iv.Cells = []result.Cell{{Op: "set", OK: 100, OKAt: result.Series{From: uint64(i-1) * 100, N: n}}}
			}
			if i == 7 {
				iv.Self.Pauses = pauses
			}
			lines = append(lines, iv)
		}
		return summary(t, run, append(lines, end(0, 0, 10, nil))...)
	}
	s := paused(result.Pause{FromS: 4.2, ToS: 5.7})
	if len(s.Outages) != 1 || s.Outages[0].DurationS != 2 || s.Outages[0].PausedS != 1.5 {
		t.Fatalf("outages are %+v", s.Outages)
	}
	if l := s.Limits[0]; l.OK || !l.Unknown || l.Got != "500ms, or 2s with what rankbench did not see" || s.Verdict != Incomplete {
		t.Errorf("limit is %+v, verdict %s", l, s.Verdict)
	}
	if !warned(s, "rankbench itself did not run for 1.50 s in all (1.50 s at 4.2 s)") {
		t.Errorf("warnings are %q", s.Warnings)
	}
	if s := paused(); s.Limits[0].OK || warned(s, "did not run") {
		t.Errorf("without a pause: limit %+v, warnings %q", s.Limits[0], s.Warnings)
	}
	if s := paused(result.Pause{FromS: 1, ToS: 1.2}); s.Limits[0].OK || warned(s, "did not run") {
		t.Errorf("short pause elsewhere: limit %+v, warnings %q", s.Limits[0], s.Warnings)
	}
}

func TestSlipIsWarnedOf(t *testing.T) {
	slipped := func(us int64) result.Summary {
		return summary(t, runOf("set"), selves(func(i int, s *result.SelfSample) { s.Slip = histogram(us, 100) })...)
	}
	if s := slipped(8000); !warned(s, "the schedule slipped") || s.Client.SlipUSP99 < 8000 {
		t.Errorf("slip is %v, warnings %q", s.Client.SlipUSP99, s.Warnings)
	}
	if s := slipped(1100); warned(s, "the schedule slipped") || s.Client.SlipUSP99 < 1100 {
		t.Errorf("slip is %v, warnings %q", s.Client.SlipUSP99, s.Warnings)
	}
}
