package analyze

import (
	"maps"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// sample is of a node that is up; change may say otherwise.
func sample(id, role string, at float64, commands map[string]uint64, change ...func(*result.NodeSample)) result.NodeSample {
	s := result.NodeSample{ID: id, Addr: id + ":6379", AtS: at, Up: true, Role: role, RunID: "first", Commands: commands}
	if role == "replica" {
		s.Link, s.PrimaryAddr = "up", "a:6379"
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func down(s *result.NodeSample) {
	*s = result.NodeSample{ID: s.ID, Addr: s.Addr, AtS: s.AtS, Error: "timeout"}
}

func restarted(s *result.NodeSample) { s.RunID = "second" }

func calls(zadd, zscore uint64) map[string]uint64 {
	return map[string]uint64{"zadd": zadd, "zscore": zscore}
}

// watched is phase 0 from 0 to 10 s with these samples, each on a line of its own.
func watched(samples ...result.NodeSample) []result.Interval {
	lines := []result.Interval{begin(0, 0, 10)}
	for _, s := range samples {
		iv := interval(0, s.AtS, s.AtS)
		iv.Nodes = []result.NodeSample{s}
		lines = append(lines, iv)
	}
	return append(lines, end(0, 0, 10, nil), last(10))
}

func nodeOf(t *testing.T, run result.Run, samples ...result.NodeSample) result.Node {
	t.Helper()
	s := summary(t, run, watched(samples...)...)
	if len(s.Nodes) != 1 || len(s.Phases[0].Nodes) != 1 {
		t.Fatalf("nodes are %+v, want one", s.Nodes)
	}
	return s.Phases[0].Nodes[0]
}

func TestCommandsOfANodeAreTheDifferenceOfItsCounters(t *testing.T) {
	n := nodeOf(t, runOf("set"), sample("a", "primary", 0, calls(1000, 5)), sample("a", "primary", 1, calls(1010, 5)), sample("a", "primary", 2, calls(1030, 6)))
	if !maps.Equal(n.Commands, calls(30, 1)) || n.Restarts != 0 || len(n.Roles) != 1 || n.Roles[0].Role != "primary" {
		t.Errorf("node is %+v", n)
	}
}

func TestCountersGoOnFromZeroAfterARestart(t *testing.T) {
	n := nodeOf(t, runOf("set"),
		sample("a", "primary", 0, calls(1000, 0)), sample("a", "primary", 1, calls(1010, 0)),
		sample("a", "", 2, nil, down), sample("a", "", 4, nil, down),
		sample("a", "primary", 5, calls(2000, 7), restarted), sample("a", "primary", 6, calls(2005, 7), restarted))
	// 10 before; 2000 since the restart, though that is more than before it; 5 more.
	if !maps.Equal(n.Commands, calls(2015, 7)) || n.Restarts != 1 {
		t.Errorf("commands are %v after %d restarts", n.Commands, n.Restarts)
	}
	if n.UnreachableS != 3 {
		t.Errorf("unreachable for %v s, want 3", n.UnreachableS)
	}
	want := []result.RoleSpan{{FromS: 0, Role: "primary"}, {FromS: 2, Role: "unreachable"}, {FromS: 5, Role: "primary"}}
	if !slices.Equal(n.Roles, want) {
		t.Errorf("roles are %v, want %v", n.Roles, want)
	}
}

func TestCountersThatWentBackWithoutARestartCountNothing(t *testing.T) {
	n := nodeOf(t, runOf("set"), sample("a", "primary", 0, calls(1000, 0)), sample("a", "primary", 1, calls(3, 0)), sample("a", "primary", 2, calls(5, 0)))
	if n.Commands["zadd"] != 2 || n.Restarts != 0 {
		t.Errorf("commands are %v (CONFIG RESETSTAT), restarts %d", n.Commands, n.Restarts)
	}
}

func TestOvertakenSamplesAreIgnored(t *testing.T) {
	n := nodeOf(t, runOf("set"),
		sample("a", "primary", 1, calls(100, 0)), sample("a", "primary", 3, calls(130, 0)),
		sample("a", "replica", 2, calls(110, 0)), sample("a", "primary", 4, calls(140, 0)))
	if n.Commands["zadd"] != 40 || len(n.Roles) != 1 {
		t.Errorf("commands are %v, roles %v", n.Commands, n.Roles)
	}
}

func TestReplicatedWritesAreNotTheReplicasOwn(t *testing.T) {
	n := nodeOf(t, runOf("set"), sample("b", "replica", 0, calls(0, 0)), sample("b", "replica", 5, calls(50, 20)))
	if n.Commands["zadd"] != 0 || n.Commands["zscore"] != 20 || n.Replicated["zadd"] != 50 {
		t.Errorf("own %v, replicated %v", n.Commands, n.Replicated)
	}
	// After it was promoted they are.
	n = nodeOf(t, runOf("set"), sample("b", "replica", 0, calls(0, 0)), sample("b", "replica", 5, calls(50, 0)),
		sample("b", "primary", 6, calls(50, 0)), sample("b", "primary", 7, calls(80, 0)))
	if n.Commands["zadd"] != 30 || n.Replicated["zadd"] != 50 || len(n.Roles) != 2 {
		t.Errorf("after the promotion: own %v, replicated %v, roles %v", n.Commands, n.Replicated, n.Roles)
	}
}

func TestSharesOfTimeAreOfTheMeasuredPart(t *testing.T) {
	busy := func(cpu float64, in uint64) func(*result.NodeSample) {
		return func(s *result.NodeSample) { s.CPUSeconds, s.NetInBytes, s.NetOutBytes = cpu, in, 2*in }
	}
	lines := watched(
		sample("a", "primary", 0, nil, busy(0, 0)), sample("a", "primary", 4, nil, busy(4, 400_000)),
		sample("a", "primary", 5, nil, busy(4, 400_000)), sample("a", "primary", 10, nil, busy(6.5, 401_000)))
	lines[0] = begin(0, 4, 10)
	lines[len(lines)-2] = end(0, 4, 10, nil)
	n := summary(t, runOf("set"), lines...).Phases[0].Nodes[0]
	// From 4 to 10 s: 2.5 s of cpu and 1000 bytes in 6 s.
	if !near(*n.CPUPct, 100*2.5/6) || *n.NetInBytesPerMin != 10_000 || *n.NetOutBytesPerMin != 20_000 || n.EngineCPUPct != nil {
		t.Errorf("node is %+v", n)
	}
}

func TestLinkDownAndLagOfAReplica(t *testing.T) {
	link := func(state string, lag int64) func(*result.NodeSample) {
		return func(s *result.NodeSample) { s.Link, s.LagBytes, s.UsedMemory = state, lag, 7 }
	}
	n := nodeOf(t, runOf("set"), sample("b", "replica", 0, nil), sample("b", "replica", 1, nil, link("down", 90)),
		sample("b", "replica", 3, nil, link("down", 10)), sample("b", "replica", 4, nil, link("up", 0)))
	if n.LinkDownS != 3 || n.MaxLagBytes != 90 || n.UsedMemoryBytes != 7 {
		t.Errorf("link down for %v s, lag up to %d, memory %d", n.LinkDownS, n.MaxLagBytes, n.UsedMemoryBytes)
	}
}

func TestDriversCountersAreOfThePhase(t *testing.T) {
	driver := func(n uint64) func(*result.NodeSample) {
		return func(s *result.NodeSample) { s.Driver = &result.DriverSample{Attempts: n, Errors: n / 10, Connects: 1} }
	}
	n := nodeOf(t, runOf("set"), sample("a", "primary", 0, nil, driver(100)), sample("a", "primary", 1, nil, driver(150)), sample("a", "primary", 2, nil))
	if n.Driver == nil || *n.Driver != (result.DriverSample{Attempts: 50, Errors: 5}) {
		t.Errorf("driver is %+v", n.Driver)
	}
}

func TestReadsOnThePrimaryAreWarnedOf(t *testing.T) {
	primary := []result.NodeSample{sample("a", "primary", 0, calls(0, 0)), sample("a", "primary", 9, calls(5, 7))}
	replica := []result.NodeSample{sample("b", "replica", 0, nil), sample("b", "replica", 9, nil)}
	promoted := []result.NodeSample{sample("a", "replica", 0, calls(0, 0)), sample("a", "primary", 9, calls(5, 7))}
	for _, tt := range []struct {
		name, readFrom string
		samples        []result.NodeSample
		want           bool
	}{
		{"meant for replicas, and there is one", "replica", slices.Concat(primary, replica), true},
		{"meant for replicas, and there is none", "replica", primary, false},
		{"meant for the primary", "primary", slices.Concat(primary, replica), false},
		{"it became primary only now", "replica", slices.Concat(promoted, replica), false},
		{"nothing was read", "replica", slices.Concat([]result.NodeSample{sample("a", "primary", 0, calls(0, 7)), sample("a", "primary", 9, calls(5, 7))}, replica), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := runOf("set")
			run.ReadFrom = tt.readFrom
			slices.SortStableFunc(tt.samples, func(a, b result.NodeSample) int { return int(a.AtS - b.AtS) })
			s := summary(t, run, watched(tt.samples...)...)
			if got := warned(s, "the primary a served 7 read commands"); got != tt.want {
				t.Errorf("warned=%v, want %v: %q", got, tt.want, s.Warnings)
			}
		})
	}
}
