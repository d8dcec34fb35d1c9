package page

import "math"

// Tail is what a later model of a run has, and an earlier one has not: what the
// live page is sent each second. Joined to the earlier model it gives the later one.
type Tail struct {
	ToS    float64    `json:"to_s"`
	Shades []Shade    `json:"shades"`
	Events []Mark     `json:"events"` // from EventsFrom on
	From   int        `json:"events_from"`
	Lanes  []LaneTail `json:"lanes"` // as many as the model has
}

// LaneTail is the new part of a lane. Series are those of all its panels, in order.
type LaneTail struct {
	Strips []Strip      `json:"strips,omitempty"`
	Shades []Shade      `json:"shades,omitempty"`
	Series []SeriesTail `json:"series,omitempty"`
}

// SeriesTail are the values from index From on.
type SeriesTail struct {
	From int    `json:"from"`
	V    Values `json:"v"`
	Lo   Values `json:"lo,omitempty"`
	Hi   Values `json:"hi,omitempty"`
}

// Since is the tail of a model after an earlier one. It is false where the models
// are not of the same lanes and series, or not on the same grid: then all of the
// later one is to be sent.
func (m Model) Since(earlier Model) (Tail, bool) {
	t := Tail{ToS: m.ToS, Shades: m.Shades}
	if len(m.Lanes) != len(earlier.Lanes) {
		return t, false
	}
	t.From = commonPrefix(m.Events, earlier.Events, func(a, b Mark) bool { return a == b })
	t.Events = m.Events[t.From:]
	for i, l := range m.Lanes {
		lane, ok := l.since(earlier.Lanes[i])
		if !ok {
			return t, false
		}
		t.Lanes = append(t.Lanes, lane)
	}
	return t, true
}

func (l Lane) since(earlier Lane) (LaneTail, bool) {
	t := LaneTail{Strips: l.Strips, Shades: l.Shades}
	if l.ID != earlier.ID || l.Title != earlier.Title || l.StepS != earlier.StepS || len(l.Panels) != len(earlier.Panels) {
		return t, false
	}
	for i, p := range l.Panels {
		before := earlier.Panels[i]
		if p.Title != before.Title || len(p.Series) != len(before.Series) {
			return t, false
		}
		for k, s := range p.Series {
			if s.Name != before.Series[k].Name {
				return t, false
			}
			t.Series = append(t.Series, s.since(before.Series[k]))
		}
	}
	return t, true
}

func (s Series) since(earlier Series) SeriesTail {
	from := commonPrefix(s.V, earlier.V, same)
	if len(s.Lo) == 0 {
		return SeriesTail{From: from, V: s.V[from:]}
	}
	from = min(from, commonPrefix(s.Lo, earlier.Lo, same), commonPrefix(s.Hi, earlier.Hi, same))
	return SeriesTail{from, s.V[from:], s.Lo[from:], s.Hi[from:]}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func commonPrefix[S ~[]T, T any](a, b S, same func(T, T) bool) int {
	n := min(len(a), len(b))
	for i := range n {
		if !same(a[i], b[i]) {
			return i
		}
	}
	return n
}
