package page

import (
	"cmp"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// Model is what the script draws: a JSON-able value that holds all of the page
// but its head. Times are seconds since the run's start. The texts of it are
// clean: no control character, and not longer than a line.
type Model struct {
	FromS  float64 `json:"from_s"`
	ToS    float64 `json:"to_s"`
	Lanes  []Lane  `json:"lanes"`
	Shades []Shade `json:"shades"` // of all operations; they do not overlap
	Events []Mark  `json:"events"` // in order of time
}

// Lane is a picture: strips of coloured spans, and panels below one another. A
// value i of a panel's series is of the time from i*StepS to (i+1)*StepS.
type Lane struct {
	ID     string  `json:"id"` // stays the same as the run goes on
	Title  string  `json:"title"`
	About  string  `json:"about"`
	StepS  float64 `json:"step_s"`
	Strips []Strip `json:"strips,omitempty"`
	Panels []Panel `json:"panels,omitempty"`
	Shades []Shade `json:"shades,omitempty"` // instead of the model's: a lane of one operation has its own
	Own    bool    `json:"own,omitempty"`    // Shades are this lane's, none at all included
}

// Strip is a row of spans.
type Strip struct {
	Name  string `json:"name"`
	Spans []Span `json:"spans"`
}

// Span is a part of a strip. Look is the class that gives it its colour.
type Span struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
	Look  string  `json:"look"`
	Text  string  `json:"text"`
}

// Kinds of panels.
const (
	Lines = "lines" // a line for each series, with its extremes as a band
	Stack = "stack" // series on top of one another
	Band  = "band"  // p50 to p99 as a band, the maximum as a line; log scale
)

// Panel is a picture of series of one unit: per_s, us, pct or bytes_per_s.
// Panels with the same Scale have the same maximum.
type Panel struct {
	Title  string   `json:"title"`
	Unit   string   `json:"unit"`
	Kind   string   `json:"kind"`
	Scale  string   `json:"scale"`
	Series []Series `json:"series"`
}

// Mark is an event: Number is the one in the table, Key says that it is one of
// those that tell the drill's story.
type Mark struct {
	Number int     `json:"number"`
	AtS    float64 `json:"at_s"`
	Source string  `json:"source"`
	Text   string  `json:"text"`
	Key    bool    `json:"key,omitempty"`
}

// Model is all that is known so far. The outages and stretches are the summary's;
// an empty one leaves them out.
func (b *Builder) Model(sum result.Summary) Model {
	g := b.grid()
	m := Model{
		FromS: 0, ToS: max(b.toS, 0.001),
		Shades: union(partsOf(sum.Outages, sum.ServiceOutages)),
		Events: b.marks(),
	}
	m.Lanes = append(m.Lanes, b.course(sum), b.rates(g), b.errors(g))
	for i, op := range b.opNames() {
		lane := b.latency(g.coarse(b.run.IntervalS), i, op)
		lane.Shades, lane.Own = union(partsOf(outagesOf(sum, op), sum.ServiceOutages)), true
		m.Lanes = append(m.Lanes, lane)
	}
	for _, n := range b.nodes {
		m.Lanes = append(m.Lanes, n.lane(g.coarse(b.run.IntervalS), b.toS))
	}
	return m
}

// marks numbers the events in the order of time.
func (b *Builder) marks() []Mark {
	events := slices.Clone(b.events)
	slices.SortStableFunc(events, func(x, y result.Event) int { return cmp.Compare(x.AtS, y.AtS) })
	out := []Mark{}
	for i, e := range events {
		text := clean(e.Message)
		if e.Subject != "" {
			text = clean(e.Subject) + ": " + text
		}
		out = append(out, Mark{i + 1, e.AtS, clean(e.Source), text, e.Kind != ""})
	}
	return out
}

// course is the lane of what happened: phases, stretches, outages.
func (b *Builder) course(sum result.Summary) Lane {
	l := Lane{ID: "course", Title: "Course of the run", Strips: []Strip{b.phaseStrip()},
		About: "Phases, stretches of the drill, and outages by operation: the part in which the service could not serve, and the part that the client cost on top."}
	if s := stretchStrip(sum.Stretches); len(s.Spans) > 0 {
		l.Strips = append(l.Strips, s)
	}
	for _, op := range b.opNames() {
		if s := outageStrip(op, sum); len(s.Spans) > 0 {
			l.Strips = append(l.Strips, s)
		}
	}
	return l
}

func (b *Builder) phaseStrip() Strip {
	s := Strip{Name: "phase", Spans: []Span{}}
	for i, p := range b.phases {
		if !p.seen {
			continue
		}
		name := clean(b.run.Phases[i].Name)
		if p.measuredS > p.fromS+0.1 {
			s.Spans = append(s.Spans, Span{p.fromS, min(p.measuredS, p.toS), "plain2", name + ", warm-up"})
		}
		if p.toS > p.measuredS {
			s.Spans = append(s.Spans, Span{max(p.fromS, p.measuredS), p.toS, "plain1", name})
		}
	}
	return s
}

func stretchStrip(all []result.Stretch) Strip {
	s := Strip{Name: "stretch"}
	for i, st := range all {
		s.Spans = append(s.Spans, Span{st.FromS, st.ToS, []string{"plain1", "plain2"}[i%2], clean(st.Name)})
	}
	return s
}

// rates is the lane of successes.
func (b *Builder) rates(g grid) Lane {
	g = g.forRates(b.slowest())
	l := Lane{ID: "rps", Title: "Operations per second", StepS: g.step, About: "Operations that succeeded, per second, by operation, at the time they were answered."}
	p := Panel{Unit: "per_s", Kind: Lines, Scale: "rps", Series: []Series{}}
	for i, op := range b.opNames() {
		p.Series = append(p.Series, g.series(clean(op), look(i), b.ops[op].rate(g.rateStep())))
	}
	l.Panels = []Panel{p}
	return l
}

// errors is the lane of what failed and what was not sent.
func (b *Builder) errors(g grid) Lane {
	l := Lane{ID: "errors", Title: "Errors", StepS: g.step, About: "Operations that failed or were not sent, per second, stacked by class, at the time they were due."}
	p := Panel{Unit: "per_s", Kind: Stack, Scale: "errors", Series: []Series{}}
	for _, class := range b.classes() {
		p.Series = append(p.Series, g.series(clean(class), classLook(class), b.failed[class].perSecond(g.rateStep(), b.toS)))
	}
	l.Panels = []Panel{p}
	return l
}

// latency is the lane of one operation's latencies.
func (b *Builder) latency(g grid, i int, op string) Lane {
	t := b.ops[op]
	series := []Series{g.series("p50", look(i), t.p50), g.series("p99", look(i), t.p99), g.series("max", look(i), t.worst)}
	return Lane{
		ID: "latency-" + itoa(i), Title: "Latency of " + clean(op), StepS: g.step,
		About:  "Latency of successes of " + clean(op) + ": p50 to p99 as a band, the maximum as a line; logarithmic scale.",
		Panels: []Panel{{Unit: "us", Kind: Band, Scale: "latency", Series: series}},
	}
}

// look is the class of the colour of the i-th series.
func look(i int) string { return "c" + itoa(i%8+1) }

// classLook gives a class of errors the same colour in every run, and those that
// are seen together in a failover different ones.
func classLook(class string) string {
	known := []string{"refused", "timeout", "readonly", "clusterdown", "reset", "moved", "unsent", "loading",
		"pool_timeout", "dns", "tls", "auth", "oom", "missing", "other"}
	if i := slices.Index(known, class); i >= 0 {
		return look(i)
	}
	return look(6)
}
