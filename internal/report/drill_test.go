package report

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// drilled is the summary of a drill that added a replica, with what is new in its text.
func drilled() result.Summary {
	s := everything()
	s.Phases, s.Outages, s.Limits, s.Warnings = nil, nil, nil, nil
	replica := []result.RoleSpan{{Role: "replica"}}
	old := result.Node{
		ID: "lb-0001-002", Addr: "127.0.0.1:7002", Roles: replica, Commands: map[string]uint64{"zscore": 100}, Replicated: map[string]uint64{"zadd": 12},
		CPUPct: new(7.0), NetInBytesPerMin: new(1.5e6), NetOutBytesPerMin: new(0.0),
	}
	seenOnce := result.Node{ID: "lb-0001-004", Addr: "127.0.0.1:7004", Roles: replica, Commands: map[string]uint64{}}
	op := func(rps *float64) map[string]result.StretchOp {
		return map[string]result.StretchOp{"get": {RPS: rps}, "set": {RPS: rps}}
	}
	s.Events = []result.Event{
		{AtS: 120, Source: "node", Subject: "127.0.0.1:7004", Message: "joined the topology as replica of lb-0001-001"},
		{AtS: 121, Source: "node", Subject: "127.0.0.1:7004", Message: "is lb-0001-004"},
		{AtS: 122, Source: "load", Subject: "lb-0001-004", Message: "serves reads, 33 % of all from then on (the first within the 1.0 s before)"},
	}
	s.Stretches = []result.Stretch{
		{Name: "baseline", ToS: 119.6, Ops: op(new(21812.4)), Nodes: []result.Node{old}},
		{Name: "during", Step: 1, FromS: 119.6, ToS: 120, Ops: op(nil), Nodes: []result.Node{old, seenOnce}},
	}
	s.Levels = map[string]result.Level{
		"get":  {BelowHalfS: new(0.0), ErrorsAbove1PctS: new(0.5), WindowS: new(0.1)},
		"set":  {BelowHalfS: new(2.2), ErrorsAbove1PctS: new(2.1), WindowS: new(0.1)},
		"find": {BelowHalfS: new(0.0), ErrorsAbove1PctS: new(0.0), WindowS: new(0.1)}, "find_by_order": {},
	}
	return s
}

func TestTextOfADrill(t *testing.T) { golden(t, "drill.txt", printed(t, drilled())) }

// joinedFolder is the folder of a run in which a replica joined at 2 s, whose id was
// known at 4 s: after the step, which had an end of its own at 3.5 s.
func joinedFolder(t *testing.T) string {
	t.Helper()
	f, err := result.Create(t.TempDir(), result.Run{
		Version: result.Version, Scenario: "small", Started: started, OutageThresholdS: 1,
		Phases: []result.RunPhase{{Name: "only", DurationS: 8, Ops: []string{"get"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mark := func(begin bool) *result.PhaseBoundary {
		return &result.PhaseBoundary{Begin: begin, End: !begin, MeasuredToS: 8, Claimed: map[string]uint64{"get": 1600}}
	}
	lines := []result.Interval{{Mark: mark(true)}}
	for i := range 8 {
		iv := result.Interval{FromS: float64(i), ToS: float64(i + 1)}
		iv.Cells = []result.Cell{{Op: "get", OK: 200, OKAt: result.Series{From: uint64(100 * i), N: slices.Repeat([]uint32{2}, 100)}}}
		iv.Nodes = joinedNodes(float64(i))
		lines = append(lines, iv)
	}
	lines = append(lines, result.Interval{FromS: 8, ToS: 8, Mark: mark(false)}, result.Interval{FromS: 8, ToS: 8, Phase: -1, End: &result.RunEnd{}})
	for _, iv := range lines {
		err = errors.Join(err, f.Interval(iv))
	}
	for _, e := range []result.Event{{AtS: 1.5, Kind: result.StepBegins, Subject: "increase_replicas"}, {AtS: 3.5, Kind: result.StepRecovered, Subject: "increase_replicas"}} {
		err = errors.Join(err, f.Event(e))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Path()
}

func joinedNodes(at float64) []result.NodeSample {
	node := func(id, addr string, reads float64) result.NodeSample {
		return result.NodeSample{AtS: at, ID: id, Addr: addr, Up: true, Role: "replica", RunID: addr, Commands: map[string]uint64{"zscore": uint64(reads)}, CPUSeconds: at / 4}
	}
	nodes := []result.NodeSample{node("a", "a:1", 100*min(at, 4)+50*max(at-4, 0))}
	if at >= 2 {
		nodes = append(nodes, node("b:1", "b:1", 50*max(at-4, 0)))
	}
	if at >= 4 {
		nodes[1].ID = "b"
	}
	return nodes
}

func TestNodeThatIsNamedLateIsOneNodeEverywhere(t *testing.T) {
	s := summarize(t, joinedFolder(t))
	var got []string
	see := func(where string, nodes []result.Node) {
		for _, n := range nodes {
			got = append(got, where+" "+n.ID)
		}
	}
	see("run", s.Nodes)
	see(s.Phases[0].Name, s.Phases[0].Nodes)
	for _, st := range s.Stretches {
		see(st.Name, st.Nodes)
	}
	want := []string{"run a", "run b", "only a", "only b", "baseline a", "during a", "during b", "restored a", "restored b"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := s.Nodes[1]; !reflect.DeepEqual(n.Roles, []result.RoleSpan{{FromS: 2, Role: "replica"}}) || *n.CPUPct != 25 || *n.FirstReadS != [2]float64{4, 5} || *n.ReadSharePct != 50 {
		t.Errorf("%+v", n)
	}
	if text := string(printed(t, s)); !strings.Contains(text, "  0:05.0  load      b  serves reads, 50 % of all from then on (the first within the 1.0 s before)\n") {
		t.Errorf("text:\n%s", text)
	}
	if l := s.Levels["get"]; l.BelowHalfS == nil || *l.BelowHalfS != 0 || *l.WindowS != 0.5 {
		t.Errorf("levels %+v", l)
	}
}
