package page

import (
	"encoding/json"
	"testing"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// joined joins a tail to the model before it, as live.js does.
func joined(m Model, t Tail) Model {
	out := Model{FromS: m.FromS, ToS: t.ToS, Shades: t.Shades, Events: append(append([]Mark{}, m.Events[:t.From]...), t.Events...)}
	for i, l := range m.Lanes {
		l.Strips, l.Shades = t.Lanes[i].Strips, t.Lanes[i].Shades
		k := 0
		panels := append([]Panel{}, l.Panels...)
		for p := range panels {
			series := append([]Series{}, panels[p].Series...)
			for s := range series {
				from := t.Lanes[i].Series[k]
				series[s].V = append(append(Values{}, series[s].V[:from.From]...), from.V...)
				if len(series[s].Lo) > 0 {
					series[s].Lo = append(append(Values{}, series[s].Lo[:from.From]...), from.Lo...)
					series[s].Hi = append(append(Values{}, series[s].Hi[:from.From]...), from.Hi...)
				}
				k++
			}
			panels[p].Series = series
		}
		if l.Panels != nil {
			l.Panels = panels
		}
		out.Lanes = append(out.Lanes, l)
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// TestTailJoinedToItsModelIsTheLaterModel goes through a real drill second by second:
// a run that grows, with nodes, outages and events that come up.
func TestTailJoinedToItsModelIsTheLaterModel(t *testing.T) {
	folder := folderOf(t, failoverRun)
	run, err := result.ReadRun(folder)
	must(t, err)
	sum, err := report.Summarize(folder)
	must(t, err)
	events, err := result.ReadEvents(folder)
	must(t, err)
	b, tails, bytes, whole := NewBuilder(run), 0, 0, 0
	var before *Model
	must(t, intervals(folder, func(iv result.Interval) error {
		must(t, b.Interval(iv))
		for len(events) > 0 && events[0].AtS <= iv.ToS {
			b.Event(events[0])
			events = events[1:]
		}
		soFar := result.Summary{}
		for _, o := range sum.Outages {
			if o.FromS <= iv.ToS {
				o.ToS = min(o.ToS, iv.ToS)
				soFar.Outages = append(soFar.Outages, o)
			}
		}
		m := b.Model(soFar)
		if before != nil {
			if tail, ok := m.Since(*before); ok {
				tails++
				bytes += len(text(t, tail))
				whole += len(text(t, m))
				if got, want := text(t, joined(*before, tail)), text(t, m); got != want {
					t.Fatalf("at %.1f s:\n got %.2000s\nwant %.2000s", iv.ToS, got, want)
				}
			}
		}
		before = &m
		return nil
	}))
	if tails < 40 {
		t.Errorf("only %d tails in a run of a minute", tails)
	}
	if bytes*2 > whole {
		t.Errorf("tails are %d bytes in all, whole models %d", bytes, whole)
	}
}

func TestModelsOfOtherLanesHaveNoTail(t *testing.T) {
	m := made{seconds: 30, nodes: 1, ops: []string{"set"}, scenario: "s", class: "refused", words: "w"}
	one := modelOf(t, m)
	m.nodes = 2
	if _, ok := modelOf(t, m).Since(one); ok {
		t.Error("a node more, and there is a tail")
	}
	m.nodes, m.seconds = 1, 3000 // a coarser grid
	if _, ok := modelOf(t, m).Since(one); ok {
		t.Error("another grid, and there is a tail")
	}
}

func modelOf(t *testing.T, m made) Model {
	t.Helper()
	b := NewBuilder(m.run())
	m.intervals(t, b.Interval)
	return b.Model(result.Summary{})
}
