package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// The units of figures.
const (
	perSecond  = "1/s"
	micros     = "us"
	seconds    = "s"
	count      = ""
	percent    = "%"
	perMinute  = "bytes/min"
	perCommand = "us/command"
)

// figure is one figure of one run.
type figure struct {
	of, value, unit string
	v               float64
}

type figures []figure

func (f *figures) add(of, value, unit string, v float64) {
	*f = append(*f, figure{of, value, unit, v})
}

func (f *figures) addIf(of, value, unit string, v *float64) {
	if v != nil {
		f.add(of, value, unit, *v)
	}
}

func (f figures) get(of, value string) (float64, bool) {
	for _, x := range f {
		if x.of == of && x.value == value {
			return x.v, true
		}
	}
	return 0, false
}

// counted is a run with what it counts for.
type counted struct {
	figures figures
	marks   []Mark
}

func countFor(r Run) counted {
	m, _ := marks(r.Summary)
	return counted{figuresOf(r.Summary), m}
}

// values are the figures of an operation in the order in which they are read.
var values = [...]string{"rps", "p50", "p99", "max", "errors", "outage", "outage_service", "outage_client", "baseline_rps", "degraded_rps", "restored_rps"}

// place is where a figure stands among those of the same thing.
func place(value string) int {
	if i := slices.Index(values[:], value); i >= 0 {
		return i
	}
	return len(values)
}

// rows are the figures that any run has, each with a cell for each group. They
// stand in the order of what they are of, as the first runs have it.
func rows(groups [][]Run) []Row {
	out, order := []Row{}, map[string]int{}
	all := make([][]counted, len(groups))
	for i, runs := range groups {
		for _, r := range runs {
			c := countFor(r)
			all[i] = append(all[i], c)
			for _, f := range c.figures {
				if _, met := order[f.of]; !met {
					order[f.of] = len(order)
				}
				if !slices.ContainsFunc(out, func(x Row) bool { return x.Of == f.of && x.Value == f.value }) {
					out = append(out, Row{Of: f.of, Value: f.value, Unit: f.unit})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(order[a.Of], order[b.Of]), cmp.Compare(place(a.Value), place(b.Value)))
	})
	for i, r := range out {
		for _, runs := range all {
			out[i].Cells = append(out[i].Cells, cellOf(runs, r))
		}
	}
	return out
}

// figuresOf are the figures of one run: none where a step failed, for an outage that
// a failover would have made, had it come about, is no outage of 0 s.
func figuresOf(s result.Summary) figures {
	var f figures
	if len(s.FailedSteps) > 0 {
		return f
	}
	for _, p := range s.Phases {
		for _, op := range inOrder(p.Ops) {
			f.operation(nameIn(s, p, op), p.Ops[op])
		}
	}
	for _, op := range operations(s) {
		f.outage(s, op)
		f.levels(op, s.Levels[op])
	}
	f.allNodes(s)
	f.run(s)
	f.add("client", "cpu", percent, s.Client.CPUPct)
	if s.Client.CPUUSPerCommand > 0 {
		f.add("client", "cpu_per_command", perCommand, s.Client.CPUUSPerCommand)
	}
	return f
}

// nameIn names an operation in a phase: by the phase, too, where others have it as well.
func nameIn(s result.Summary, p result.Phase, op string) string {
	for _, other := range s.Phases {
		if _, has := other.Ops[op]; has && other.Name != p.Name {
			return p.Name + "." + op
		}
	}
	return op
}

func (f *figures) operation(of string, o result.OpSummary) {
	f.add(of, "rps", perSecond, o.RPS)
	if o.OK > 0 {
		f.add(of, "p50", micros, o.LatencyUS.P50)
		f.add(of, "p99", micros, o.LatencyUS.P99)
		f.add(of, "max", micros, o.LatencyUS.Max)
	}
	f.add(of, "errors", count, float64(o.Due-o.OK))
}

// whole says whether a run has seen all that it was to see.
func whole(s result.Summary) bool { return s.Complete && !s.Interrupted }

// outage is the longest one of an operation; what rankbench itself slept through is not counted.
func (f *figures) outage(s result.Summary, op string) {
	if !whole(s) {
		return
	}
	var longest result.Outage
	for _, o := range s.Outages {
		if o.Op == op && o.DurationS-o.PausedS > longest.DurationS-longest.PausedS {
			longest = o
		}
	}
	f.add(op, "outage", seconds, math.Round(1e6*(longest.DurationS-longest.PausedS))/1e6)
	f.addIf(op, "outage_service", seconds, longest.ServiceS)
	f.addIf(op, "outage_client", seconds, longest.ClientS)
}

func (f *figures) levels(op string, l result.Level) {
	f.addIf(op, "baseline_rps", perSecond, l.BaselineRPS)
	f.addIf(op, "degraded_rps", perSecond, l.DegradedRPS)
	f.addIf(op, "restored_rps", perSecond, l.RestoredRPS)
}

// allNodes adds the nodes of each phase; of a drill, those of its baseline: later
// roles change, and a mean over both would be nobody's.
func (f *figures) allNodes(s result.Summary) {
	if i := slices.IndexFunc(s.Stretches, func(st result.Stretch) bool { return st.Name == "baseline" }); i >= 0 {
		f.nodes("", s.Stretches[i].Nodes)
		return
	}
	for _, p := range s.Phases {
		prefix := ""
		if len(s.Phases) > 1 {
			prefix = p.Name + "."
		}
		f.nodes(prefix, p.Nodes)
	}
}

// nodes adds the means over the nodes that had one role all the time, by role.
func (f *figures) nodes(prefix string, nodes []result.Node) {
	for _, role := range []string{"primary", "replica"} {
		in := func(get func(result.Node) *float64) *float64 { return meanOf(nodes, role, get) }
		f.addIf(prefix+role, "cpu", percent, in(func(n result.Node) *float64 { return n.CPUPct }))
		f.addIf(prefix+role, "net_in", perMinute, in(func(n result.Node) *float64 { return n.NetInBytesPerMin }))
		f.addIf(prefix+role, "net_out", perMinute, in(func(n result.Node) *float64 { return n.NetOutBytesPerMin }))
	}
}

func meanOf(nodes []result.Node, role string, get func(result.Node) *float64) *float64 {
	sum, n := 0.0, 0
	for _, node := range nodes {
		if v := get(node); v != nil && len(node.Roles) == 1 && node.Roles[0].Role == role {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// run adds what a drill did as a whole.
func (f *figures) run(s result.Summary) {
	if !whole(s) {
		return
	}
	if len(s.Stretches) > 0 {
		for _, what := range []string{"write", "read"} {
			f.add("service", what+"_outage", seconds, longestService(what, s.ServiceOutages))
		}
	}
	if a := s.Audit; a != nil {
		f.add("run", "lost_writes", count, float64(a.Lost))
	}
	f.steps(s.Events)
}

// steps adds how long each step took from its beginning until all was healthy.
func (f *figures) steps(events []result.Event) {
	began, nth := 0.0, map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case result.StepBegins:
			began = e.AtS
		case result.StepRecovered:
			name := e.Subject
			if nth[name]++; nth[name] > 1 {
				name = fmt.Sprintf("%s (%d)", name, nth[name])
			}
			f.add("step", name, seconds, e.AtS-began)
		}
	}
}

func longestService(what string, all []result.ServiceOutage) float64 {
	longest := 0.0
	for _, o := range all {
		if o.What == what {
			longest = max(longest, o.DurationS)
		}
	}
	return longest
}

// operations are those of all phases, in their usual order.
func operations(s result.Summary) []string {
	all := map[string]bool{}
	for _, p := range s.Phases {
		for op := range p.Ops {
			all[op] = true
		}
	}
	return inOrder(all)
}

// inOrder lists operations in their usual order.
func inOrder[T any](byOp map[string]T) []string {
	order := map[string]int{"set": 0, "get": 1, "find": 2, "find_by_order": 3}
	return slices.SortedFunc(maps.Keys(byOp), func(a, b string) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a, b))
	})
}
