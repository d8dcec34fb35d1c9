package main

import (
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/progress"
)

func TestStatusLineSaysHowFarARunIs(t *testing.T) {
	in := 20.4
	load := progress.Status{State: progress.Load, ElapsedS: 70.9, PlannedS: 120, Phase: "mixed", Past: []int64{0, 15000, 31612}, Failed: 1212, Failing: 12, Next: "test_failover of 0001", NextInS: &in}
	waits := load
	waits.NextInS, waits.Warmup, waits.Failing = nil, true, 0
	hostile := load
	hostile.Phase, hostile.Next = "\x1b[2J"+strings.Repeat("x", 10_000), "\nverdict"
	for _, c := range []struct {
		name  string
		s     progress.Status
		width int
		want  string
	}{
		{"load", load, 200, "1:10 · 0:49 left · mixed · 31,612/s ▁▄█ · failed 1,212 (12 in the last second) · next: test_failover of 0001 in 0:20"},
		{"a step that waits, in a warm-up", waits, 200, "1:10 · 0:49 left · mixed, warm-up · 31,612/s ▁▄█ · failed 1,212 · next: test_failover of 0001 when the one before has recovered"},
		{"no room", load, 24, "1:10 · 0:49 left · mixe…"},
		{"no room at all", load, 0, "…"},
		{"after the load", progress.Status{State: progress.After, ElapsedS: 3725}, 200, "1:02:05 · the load is over; waiting for what the steps began"},
		{"before the first second", progress.Status{State: progress.Load, PlannedS: 5, Phase: "p"}, 200, "0:00 · 0:05 left · p · failed 0"},
		{"hostile names", hostile, 300, `1:10 · 0:49 left · \x1b[2J` + strings.Repeat("x", 26) + `… (9,974 characters more) · 31,612/s ▁▄█ · failed 1,212 (12 in the last second) · next: \nverdict in 0:20`},
	} {
		if got := statusLine(c.s, c.width); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
