package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/scenario"
)

// twoPhases is a scenario with every kind, in both loops.
func twoPhases() *scenario.Scenario {
	ops := []scenario.Load{
		{Kind: ranking.Set, Workers: 5},
		{Kind: ranking.Get, Workers: 3, Rate: 100, Patience: time.Second, Zipf: 0.99},
		{Kind: ranking.Find, Workers: 2, Count: 20},
		{Kind: ranking.FindByOrder, Workers: 1, Count: 50},
	}
	return &scenario.Scenario{
		Name: "two", Seed: 7, ErrorPause: 10 * time.Millisecond,
		Ranking: ranking.Spec{Key: "ranking", Members: 1000, ScoreSpread: 100, MemberFormat: ranking.DefaultMemberFormat, Seed: 7},
		Phases: []scenario.Phase{
			{Name: "first", Warmup: 2 * time.Second, Duration: 10 * time.Second, Ops: ops},
			{Name: "second", Duration: time.Second, Ops: ops},
		},
	}
}

func build(t *testing.T, sc *scenario.Scenario) *Plan {
	t.Helper()
	p, err := Build(sc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPhasesAreTheScenarios(t *testing.T) {
	p := build(t, twoPhases())
	if len(p.Phases) != 2 || p.Phases[0].Name != "first" || p.Phases[1].Name != "second" {
		t.Fatalf("phases are %+v", p.Phases)
	}
	first := p.Phases[0]
	if first.End() != 12*time.Second || first.Workers() != 11 || len(first.Jobs) != 4 {
		t.Errorf("the first ends at %v with %d workers in %d jobs", first.End(), first.Workers(), len(first.Jobs))
	}
	for _, j := range first.Jobs {
		open := j.Kind == ranking.Get
		if (j.Schedule != nil) != open || j.ErrorPause != 10*time.Millisecond {
			t.Errorf("%s has schedule %v, error pause %v", j.Kind, j.Schedule, j.ErrorPause)
		}
	}
	// The schedule runs through the warm-up to the end of the phase.
	if n := dueCount(first.Jobs[1].Schedule); n != 1200 {
		t.Errorf("%d gets are due in 12 s at 100/s", n)
	}
}

func TestImpossibleScenariosAreNoPlan(t *testing.T) {
	noMembers, badZipf := twoPhases(), twoPhases()
	noMembers.Ranking.Members = 0
	badZipf.Phases[1].Ops = []scenario.Load{{Kind: ranking.Set, Workers: 1, Zipf: -1}}
	for _, tt := range []struct {
		name, want string
		sc         *scenario.Scenario
	}{
		{"no members", "plan two: members: ", noMembers},
		{"exponent", "plan two: phase second: zipf: ", badZipf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Build(tt.sc); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Build says %v, want %q…", err, tt.want)
			}
		})
	}
}

// text is an operation, copied out of the Op's buffers.
func text(op *ranking.Op) string {
	switch op.Kind {
	case ranking.Set:
		return fmt.Sprintf("set %s %v", op.Member, op.Score)
	case ranking.Get:
		return "get " + strings.Clone(op.Member)
	case ranking.Find:
		return fmt.Sprintf("find %d %q", op.Count, op.Members)
	default:
		return fmt.Sprintf("find_by_order %d %d", op.Start, op.Count)
	}
}

func operations(s Source, ns []uint64) map[uint64]string {
	out, op := map[uint64]string{}, new(ranking.Op)
	for _, n := range ns {
		s.Op(n, op)
		out[n] = text(op)
	}
	return out
}

func TestOperationsDependOnSeedAndNumberAlone(t *testing.T) {
	ns := []uint64{}
	for n := range uint64(500) {
		ns = append(ns, n, 1<<40+n)
	}
	backwards := slices.Clone(ns)
	slices.Reverse(backwards)
	a, again := build(t, twoPhases()), build(t, twoPhases())
	for i, ph := range a.Phases {
		for j, job := range ph.Jobs {
			t.Run(ph.Name+"/"+job.Kind.String(), func(t *testing.T) {
				forth, back := operations(job.Source, ns), operations(again.Phases[i].Jobs[j].Source, backwards)
				for _, n := range ns {
					if forth[n] != back[n] {
						t.Fatalf("operation %d is %s, asked in another order %s", n, forth[n], back[n])
					}
				}
			})
		}
	}
}

func TestSourceIsSafeForConcurrentUse(t *testing.T) {
	src := build(t, twoPhases()).Phases[0].Jobs[1].Source
	want := operations(src, []uint64{1, 2, 3})
	got := make(chan map[uint64]string)
	for range 4 {
		go func() { got <- operations(src, []uint64{3, 1, 2}) }()
	}
	for range 4 {
		if g := <-got; g[1] != want[1] || g[2] != want[2] || g[3] != want[3] {
			t.Errorf("got %v, want %v", g, want)
		}
	}
}

// members lists the members of the first 100 operations.
func members(s Source) []string {
	var out []string
	var op ranking.Op
	for n := range uint64(100) {
		s.Op(n, &op)
		if op.Kind == ranking.Find {
			out = append(out, strings.Clone(op.Members[0]))
		} else {
			out = append(out, strings.Clone(op.Member))
		}
	}
	return out
}

func TestStreamsOfSeedsPhasesAndKindsDiffer(t *testing.T) {
	sc := twoPhases()
	for i := range sc.Phases {
		sc.Phases[i].Ops = slices.Clone(sc.Phases[i].Ops)
		sc.Phases[i].Ops[1].Zipf = 0 // alike but for the stream
	}
	other := *sc
	other.Seed, other.Ranking.Seed = 8, 8
	streams := map[string][]string{}
	for name, p := range map[string]*Plan{"seed 7": build(t, sc), "seed 8": build(t, &other)} {
		for _, ph := range p.Phases {
			for _, job := range ph.Jobs[:3] {
				streams[name+" "+ph.Name+" "+job.Kind.String()] = members(job.Source)
			}
		}
	}
	for a, ma := range streams {
		for b, mb := range streams {
			same := 0
			for i := range ma {
				if ma[i] == mb[i] {
					same++
				}
			}
			// 100 of 1000 members: chance has them agree 0.1 times.
			if a != b && same > 5 {
				t.Errorf("%s and %s agree in %d of 100 members", a, b, same)
			}
		}
	}
}

func TestOperationsStayWithinTheRanking(t *testing.T) {
	p := build(t, twoPhases())
	known := map[string]bool{}
	for id := range p.Ranking.Members {
		known[string(p.Ranking.AppendMember(nil, id))] = true
	}
	var op ranking.Op
	for _, job := range p.Phases[0].Jobs {
		for n := range uint64(3000) {
			job.Source.Op(n, &op)
			asked := []string{op.Member}
			switch op.Kind {
			case ranking.FindByOrder:
				asked = nil
				if op.Start < 0 || op.Start+int64(op.Count) > p.Ranking.Members || op.Count != 50 {
					t.Fatalf("page of %d rows from %d of %d", op.Count, op.Start, p.Ranking.Members)
				}
			case ranking.Find:
				asked = op.Members
				if len(asked) != 20 || op.Count != 20 {
					t.Fatalf("find asks for %d members, says %d, want 20", len(asked), op.Count)
				}
			case ranking.Set:
				if op.Score < 0 || op.Score >= 100 || op.Score != float64(int64(op.Score)) {
					t.Fatalf("set has score %v", op.Score)
				}
			}
			for _, m := range asked {
				if !known[m] {
					t.Fatalf("%s asks for %q, which is not in the ranking", op.Kind, m)
				}
			}
		}
	}
}

func TestPagesReachBothEndsOfTheRanking(t *testing.T) {
	for _, tt := range []struct {
		name          string
		members       int64
		rows          int
		first, starts int64 // least start, number of possible starts
	}{
		{"short pages", 30, 10, 0, 21},
		{"page of one row", 5, 1, 0, 5},
		{"page of the whole ranking", 10, 10, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := twoPhases()
			sc.Ranking.Members = tt.members
			sc.Phases[0].Ops = []scenario.Load{{Kind: ranking.FindByOrder, Workers: 1, Count: tt.rows}}
			src, seen := build(t, sc).Phases[0].Jobs[0].Source, map[int64]bool{}
			var op ranking.Op
			for n := range uint64(2000) {
				src.Op(n, &op)
				seen[op.Start] = true
			}
			if !seen[tt.first] || !seen[tt.first+tt.starts-1] || int64(len(seen)) != tt.starts {
				t.Errorf("pages start at %d places, want all of %d from %d", len(seen), tt.starts, tt.first)
			}
		})
	}
}

func TestSourceAllocatesNothing(t *testing.T) {
	for _, job := range build(t, twoPhases()).Phases[0].Jobs {
		var op ranking.Op
		n := uint64(0)
		if allocs := testing.AllocsPerRun(100, func() { job.Source.Op(n, &op); n++ }); allocs != 0 {
			t.Errorf("%s allocates %v times an operation", job.Kind, allocs)
		}
	}
}

func TestARepeatSendsOtherOperations(t *testing.T) {
	first := build(t, twoPhases())
	second, err := BuildRepeat(twoPhases(), 1)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	var a, b ranking.Op
	for n := range uint64(1000) {
		first.Phases[0].Jobs[0].Source.Op(n, &a)
		second.Phases[0].Jobs[0].Source.Op(n, &b)
		if a.Member == b.Member {
			same++
		}
	}
	if same > 100 {
		t.Errorf("%d of 1000 members are the same", same)
	}
	if len(second.Phases) != len(first.Phases) || second.Phases[0].End() != first.Phases[0].End() {
		t.Error("the phases differ")
	}
}
