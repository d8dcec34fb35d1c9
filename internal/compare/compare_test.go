package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// run is a whole run with one operation, in a folder under results.
func run(name string, rps float64, conditions ...Condition) Run {
	return Run{
		Folder: "results/" + name, Parent: "results", Conditions: append(Conditions{{"scenario", "s"}, {"members", "100"}}, conditions...),
		Summary: result.Summary{Scenario: "s", Complete: true, DurationS: 10, Phases: []result.Phase{{Name: "p", ToS: 10, Ops: map[string]result.OpSummary{
			"set": {Due: 100, OK: 100, RPS: rps, LatencyUS: result.Quantiles{P50: 1e6 / rps, P99: 2e6 / rps, Max: 3e6 / rps}},
		}}}},
	}
}

func spread(v string) Condition { return Condition{"score_spread", v} }

func compared(t *testing.T, o Options, runs ...Run) Table {
	t.Helper()
	table, err := Compare(runs, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRunsAreGroupedByWhatDiffers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      Options
		runs   []Run
		by     []string
		labels []string
		sizes  []int
	}{
		{"nothing", Options{}, []Run{run("a", 1), run("b", 2)}, nil, []string{"all runs"}, []int{2}},
		{"one key", Options{}, []Run{run("a", 1, spread("100")), run("b", 1, spread("7")), run("c", 1, spread("100"))},
			[]string{"score_spread"}, []string{"score_spread 100", "score_spread 7"}, []int{2, 1}},
		{"a key that one has not", Options{}, []Run{run("a", 1, Condition{"set.rate", "5"}), run("b", 1)},
			[]string{"set.rate"}, []string{"set.rate 5", "set.rate not set"}, []int{1, 1}},
		{"two keys", Options{}, []Run{run("a", 1, spread("1"), Condition{"replicas", "2"}), run("b", 1, spread("2"), Condition{"replicas", "2"}), run("c", 1, spread("2"), Condition{"replicas", "3"})},
			[]string{"score_spread", "replicas"}, []string{"score_spread 1, replicas 2", "score_spread 2, replicas 2", "score_spread 2, replicas 3"}, []int{1, 1, 1}},
		{"a name that says no more than the rest", Options{}, []Run{named("x", run("a", 1, spread("1"))), named("y", run("b", 1, spread("2")))},
			[]string{"score_spread"}, []string{"score_spread 1", "score_spread 2"}, []int{1, 1}},
		{"a name alone", Options{}, []Run{named("x", run("a", 1)), named("y", run("b", 1))}, []string{"scenario"}, []string{"scenario x", "scenario y"}, []int{1, 1}},
		{"by a key", Options{By: []string{"replicas"}}, []Run{run("a", 1, spread("1"), Condition{"replicas", "2"}), run("b", 1, spread("2"), Condition{"replicas", "2"})},
			[]string{"replicas"}, []string{"replicas 2"}, []int{2}},
		{"by folder", Options{By: []string{ByFolder}}, []Run{in("r5", run("a", 1)), in("m5", run("b", 1)), in("r5", run("c", 1))},
			[]string{"folder"}, []string{"folder r5", "folder m5"}, []int{2, 1}},
		{"with a base", Options{Base: "results/b/"}, []Run{run("a", 1, spread("1")), run("b", 1, spread("2"))}, []string{"score_spread"}, []string{"score_spread 2", "score_spread 1"}, []int{1, 1}},
		{"with a series as base", Options{Base: "./results"}, []Run{{Folder: "a", Conditions: Conditions{spread("1")}}, run("b", 1, spread("2"))},
			[]string{"scenario", "members", "score_spread"}, nil, []int{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := compared(t, tt.o, tt.runs...)
			var labels []string
			var sizes []int
			for _, g := range table.Groups {
				labels, sizes = append(labels, g.Label), append(sizes, len(g.Runs))
			}
			if tt.labels != nil && !slices.Equal(labels, tt.labels) || !slices.Equal(sizes, tt.sizes) {
				t.Errorf("labels %q, sizes %v", labels, sizes)
			}
			if tt.labels != nil && !slices.Equal(table.By, tt.by) {
				t.Errorf("by %q", table.By)
			}
		})
	}
}

func named(scenario string, r Run) Run {
	r.Conditions = slices.Clone(r.Conditions)
	r.Conditions[0].Value = scenario
	return r
}

func in(parent string, r Run) Run {
	r.Parent = parent
	return r
}

func TestWhatCannotBeComparedIsAnError(t *testing.T) {
	a, b := run("a", 1), run("b", 1)
	for _, tt := range []struct {
		name string
		o    Options
		runs []Run
		want string
	}{
		{"no run", Options{}, nil, "at least two runs are needed, here is 0"},
		{"one run", Options{}, []Run{a}, "at least two runs are needed, here is 1"},
		{"a run twice", Options{}, []Run{a, b, a}, "results/a is given twice"},
		{"no such key", Options{By: []string{"replica"}}, []Run{a, b}, `by "replica": there is no such key; there are scenario, members, folder`},
		{"no such base", Options{Base: "c"}, []Run{a, b}, "base c: it is not among the runs"},
	} {
		if _, err := Compare(tt.runs, tt.o); !errors.Is(err, ErrUse) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// versus are runs of two spreads with these rates.
func versus(base, other []float64) []Run {
	var runs []Run
	for i, v := range base {
		runs = append(runs, run(fmt.Sprint("base", i), v, spread("100000")))
	}
	for i, v := range other {
		runs = append(runs, run(fmt.Sprint("other", i), v, spread("100")))
	}
	return runs
}

func row(t *testing.T, table Table, of, value string) Row {
	t.Helper()
	i := slices.IndexFunc(table.Rows, func(r Row) bool { return r.Of == of && r.Value == value })
	if i < 0 {
		t.Fatalf("no row %s %s in %+v", of, value, table.Rows)
	}
	return table.Rows[i]
}

func TestDifferencesAreSaidInWords(t *testing.T) {
	for _, tt := range []struct {
		name        string
		base, other []float64
		verdict     Verdict
		words       string
	}{
		{"enough runs, apart", []float64{100, 101, 102, 103}, []float64{87, 88, 89, 90}, Differs, "set rps: 13 % fewer with score_spread 100 than with 100000 (p = 0.029, n = 4+4)"},
		{"enough runs, far apart", []float64{100, 101, 102, 103}, []float64{300, 301, 302, 315}, Differs, "set rps: 3.0 times as many with score_spread 100 as with 100000 (p = 0.029, n = 4+4)"},
		{"enough runs, overlapping a little", []float64{100, 101, 102, 103, 104}, []float64{103.5, 105, 106, 107, 108}, Differs, "set rps: 3.8 % more with score_spread 100 than with 100000 (p = 0.016, n = 5+5)"},
		{"enough runs, mixed", []float64{100, 101, 102, 103}, []float64{99, 101.5, 102.5, 104}, Noise, "set rps: no difference that is more than noise between 100000 and score_spread 100 (p = 0.886, n = 4+4)"},
		{"three and five are enough", []float64{100, 101, 102}, []float64{90, 91, 92, 93, 94}, Differs, "set rps: 8.9 % fewer with score_spread 100 than with 100000 (p = 0.036, n = 5+3)"},
		{"three and three, far apart", []float64{100, 101, 102}, []float64{300, 305, 310}, Apart, "set rps: 3.0 times as many with score_spread 100 as with 100000 (p = 0.1, n = 3+3): the ranges do not overlap, and lie 19.8 times the wider one's width apart"},
		{"three and three, near", []float64{100, 101, 102}, []float64{103, 104, 105}, CannotTell, "set rps: 3.0 % more with score_spread 100 than with 100000 (p = 0.1, n = 3+3): the ranges do not overlap, but lie closer than the wider one is wide; one pair of equal groups in 10 does that by chance"},
		{"three and three, mixed", []float64{100, 101, 102}, []float64{101.5, 104, 105}, CannotTell, "set rps: 2.5 % more with score_spread 100 than with 100000 (p = 0.2, n = 3+3): the ranges overlap"},
		{"three and three, without any width", []float64{100, 100, 100}, []float64{101, 101, 101}, Apart, "set rps: 1.0 % more with score_spread 100 than with 100000 (p = 0.1, n = 3+3): the ranges do not overlap, and neither has any width"},
		{"two and two", []float64{100, 101}, []float64{300, 301}, CannotTell, "set rps: 3.0 times as many with score_spread 100 as with 100000 (p = 0.333, n = 2+2): the ranges do not overlap, which one pair of equal groups in 3 does by chance"},
		{"one and one", []float64{100}, []float64{300}, CannotTell, "set rps: 3.0 times as many with score_spread 100 as with 100000 (p = 1, n = 1+1): of one run it is not known how far two of them lie apart"},
		{"all the same", []float64{100, 100, 100}, []float64{100, 100, 100}, Equal, "set rps: the same in all runs"},
		{"from nothing", []float64{0, 0, 0, 0}, []float64{5, 6, 7, 8}, Differs, "set rps: 6.5 with score_spread 100, none with 100000 (p = 0.029, n = 4+4)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := row(t, compared(t, Options{}, versus(tt.base, tt.other)...), "set", "rps").Cells[1]
			if c.Difference.Verdict != tt.verdict || c.Words != tt.words {
				t.Errorf("%s: %q", c.Difference.Verdict, c.Words)
			}
		})
	}
}

func TestUnitsHaveWordsOfTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		unit        string
		base, other float64
		want        string
	}{
		{"us", 100, 50, "50 % shorter with A than with B"}, {"s", 100, 150, "50 % longer with A than with B"}, {"s", 1, 4, "4.0 times as long with A as with B"},
		{"%", 100, 90, "10 % less with A than with B"}, {"bytes/min", 100, 300, "3.0 times as much with A as with B"}, {"", 100, 300, "3.0 times as many with A as with B"},
		{"us/command", 100, 99.5, "0.5 % less with A than with B"}, {"1/s", 2, 2, "the same mean with A and with B"},
	} {
		if got := change(tt.unit, tt.base, tt.other, "A", "B"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.unit, got, tt.want)
		}
	}
}

func TestTooFewRunsAreSaid(t *testing.T) {
	if got := compared(t, Options{}, versus([]float64{1, 2, 3}, []float64{4, 5, 6})...).TooFew(); got != "3 and 3 runs cannot tell: p = 0.1 at best, which is above 0.05; 4 and 4 or more can" {
		t.Error(got)
	}
	if got := compared(t, Options{}, versus([]float64{1, 2, 3, 4}, []float64{4, 5, 6, 7})...).TooFew(); got != "" {
		t.Error(got)
	}
}

// TestEqualGroupsOfThreeAreSeldomApart holds the rule to what the help says of it.
func TestEqualGroupsOfThreeAreSeldomApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"normal": r.NormFloat64, "uniform": r.Float64, "exponential": r.ExpFloat64, "log-normal": func() float64 { return math.Exp(r.NormFloat64()) },
	} {
		apart := 0
		const draws = 10_000
		for range draws {
			a, b := []float64{draw(), draw(), draw()}, []float64{draw(), draw(), draw()}
			if differ(a, b).Verdict == Apart {
				apart++
			}
		}
		if share := float64(apart) / draws; share < 0.003 || share > 0.02 {
			t.Errorf("%s: %.2f %% of equal groups are apart", name, 100*share)
		}
	}
}

func TestMarkedRunsAreMarkedAndCountForWhatTheyHaveSeen(t *testing.T) {
	audited := func(name string, change func(*result.Summary)) Run {
		r := run(name, 100)
		r.Summary.Audit = &result.Audit{Lost: 7}
		change(&r.Summary)
		return r
	}
	table := compared(t, Options{},
		audited("whole", func(*result.Summary) {}),
		audited("slow", func(s *result.Summary) { s.Client.Bottleneck, s.Client.Reason = true, "pool" }),
		audited("cut", func(s *result.Summary) { s.Interrupted = true }),
		audited("killed", func(s *result.Summary) { s.Complete = false }),
		audited("failed", func(s *result.Summary) { s.FailedSteps = []string{"test_failover: refused"} }),
	)
	var got []string
	for _, r := range table.Groups[0].Runs {
		got = append(got, fmt.Sprintf("%s %v %s", r.Folder, r.Marks, r.Why))
	}
	want := []string{"results/whole [] ", "results/slow [client_bottleneck] pool", "results/cut [interrupted] interrupted after 10.0 s",
		"results/killed [killed] killed after 10.0 s", "results/failed [failed_step] test_failover: refused"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for value, n := range map[string]int{"rps": 4, "outage": 2} {
		if c := row(t, table, "set", value).Cells[0]; c.N != n {
			t.Errorf("%s counts %d runs, want %d", value, c.N, n)
		}
	}
	if c := row(t, table, "set", "rps").Cells[0]; !slices.Equal(c.Marks, []Mark{Bottleneck, Interrupted, Killed}) {
		t.Errorf("marks %v", c.Marks)
	}
	if c := row(t, table, "run", "lost_writes").Cells[0]; c.N != 2 || c.Mean != 7 || !slices.Equal(c.Marks, []Mark{Bottleneck}) {
		t.Errorf("lost writes %+v", c)
	}
}

func TestFiguresOfADrill(t *testing.T) {
	r := run("a", 100)
	s := &r.Summary
	s.Outages = []result.Outage{
		{Op: "set", DurationS: 3, PausedS: 2.5}, {Op: "set", DurationS: 2, ServiceS: new(1.5), ClientS: new(0.5)}, {Op: "get", DurationS: 9},
	}
	s.ServiceOutages = []result.ServiceOutage{{What: "write", DurationS: 1.5}, {What: "write", DurationS: 1.2}}
	s.Levels = map[string]result.Level{"set": {BaselineRPS: new(90.0), RestoredRPS: new(80.0)}}
	role := func(names ...string) (spans []result.RoleSpan) {
		for _, n := range names {
			spans = append(spans, result.RoleSpan{Role: n})
		}
		return spans
	}
	nodes := []result.Node{
		{Roles: role("primary"), CPUPct: new(50.0)}, {Roles: role("replica"), CPUPct: new(10.0)}, {Roles: role("replica"), CPUPct: new(20.0)},
		{Roles: role("replica")}, {Roles: role("replica", "primary"), CPUPct: new(99.0)},
	}
	s.Stretches = []result.Stretch{{Name: "baseline", Nodes: nodes}}
	for i, at := range []float64{1, 3, 10, 15} {
		s.Events = append(s.Events, result.Event{AtS: at, Subject: "test_failover", Kind: []string{result.StepBegins, result.StepRecovered}[i%2]})
	}
	table := compared(t, Options{}, r, run("b", 100))
	for _, want := range []struct {
		of, value string
		v         float64
	}{
		{"set", "outage", 2}, {"set", "outage_service", 1.5}, {"set", "outage_client", 0.5}, {"set", "baseline_rps", 90}, {"set", "restored_rps", 80},
		{"service", "write_outage", 1.5}, {"service", "read_outage", 0}, {"step", "test_failover", 2}, {"step", "test_failover (2)", 5},
		{"primary", "cpu", 50}, {"replica", "cpu", 15},
	} {
		if c := row(t, table, want.of, want.value).Cells[0]; c.Values[0] != want.v {
			t.Errorf("%s %s is %v, want %v", want.of, want.value, c.Values[0], want.v)
		}
	}
}

func TestOperationsOfSeveralPhasesAreNamedByThem(t *testing.T) {
	r := run("a", 100)
	more := r.Summary.Phases[0]
	more.Name = "q"
	more.Ops = map[string]result.OpSummary{"set": {RPS: 5}, "get": {RPS: 6}}
	r.Summary.Phases = append(r.Summary.Phases, more)
	table := compared(t, Options{}, r, run("b", 1, spread("9")))
	for of, want := range map[string]float64{"p.set": 100, "q.set": 5, "get": 6} {
		if c := row(t, table, of, "rps").Cells[0]; c.Mean != want {
			t.Errorf("%s: %v", of, c.Mean)
		}
	}
	if c := row(t, table, "p.set", "rps").Cells[1]; c != nil {
		t.Errorf("the other run has no p.set, and %+v", c)
	}
}

func TestDoubtsAboutTheComparisonAreNoted(t *testing.T) {
	version := func(v string) Condition { return Condition{"rankbench", v} }
	table := compared(t, Options{By: []string{"score_spread"}}, run("a", 1, spread("1"), version("v1")), run("b", 1, spread("2"), version("v2")))
	want := []string{
		"the runs differ in rankbench as well: what differs between the groups may come of that",
		"the runs are of different versions of rankbench (v1, v2): a difference may be its own",
	}
	if !slices.Equal(table.Notes, want) {
		t.Errorf("%q", table.Notes)
	}
}

func TestGroupsWithLongLabelsHaveLetters(t *testing.T) {
	long := strings.Repeat("x", 41)
	table := compared(t, Options{}, versus([]float64{1, 2, 3}, []float64{9, 9, 9})...)
	if table.Groups[1].Name != "score_spread 100" {
		t.Error(table.Groups[1].Name)
	}
	table = compared(t, Options{}, run("a", 1, spread(long)), run("b", 2, spread("1")))
	if g := table.Groups; g[0].Name != "A" || g[1].Name != "B" || !strings.Contains(row(t, table, "set", "rps").Cells[1].Words, "2.0 times as many with B as with A") {
		t.Errorf("%+v", table)
	}
	if letter(25) != "Z" || letter(26) != "G27" {
		t.Error(letter(25), letter(26))
	}
}
