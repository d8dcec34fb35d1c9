package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// gap is what the lines of a drill, and the live page, say of one operation while it
// runs: a look ahead at the outages that the summary has to the end.
type gap struct {
	quiet  time.Duration // what may pass without a success where nothing has failed
	last   time.Duration // end of the last bucket with a success
	told   bool          // that there is none any more
	failed map[string]uint64
}

// gapOf is the gap of an operation of the phase. At a slow rate nothing may be due
// for longer than the threshold.
func (p *phaseRun) gapOf(op string) *gap {
	if g := p.gaps[op]; g != nil {
		return g
	}
	g := &gap{quiet: p.o.Scenario.OutageThreshold, last: p.from, failed: map[string]uint64{}}
	for _, j := range p.phase.Jobs {
		if j.Kind.String() == op && j.Rate > 0 {
			g.quiet = max(g.quiet, time.Duration(analyze.SlowFactor/j.Rate*float64(time.Second)))
		}
	}
	p.gaps[op] = g
	return g
}

// out tells whether d without a success is an outage.
func (g *gap) out(d, threshold time.Duration) bool {
	return d > g.quiet || d > threshold && len(g.failed) > 0
}

// followOutages tells when an operation has no success any more, and when it has
// again. Cells are those of the interval that ends now.
func (p *phaseRun) followOutages(now time.Duration, cells []result.Cell) {
	threshold := p.o.Scenario.OutageThreshold
	for _, c := range cells {
		g := p.gapOf(c.Op)
		for class, f := range c.Errors {
			g.failed[class] += f.N
		}
		for i, n := range c.OKAt.N {
			if n == 0 {
				continue
			}
			at := time.Duration(c.OKAt.From+uint64(i)) * result.BucketWidth
			if g.out(at-g.last, threshold) {
				p.outageBegins(c.Op, g, at)
				p.outageEnds(c.Op, g.last, at)
			}
			g.last, g.told, g.failed = at+result.BucketWidth, false, map[string]uint64{}
		}
	}
	for op, g := range p.gaps {
		if g.out(now-g.last, threshold) {
			p.outageBegins(op, g, now)
		}
	}
}

// outageBegins is called once an outage is known to be one, as often as one likes.
func (p *phaseRun) outageBegins(op string, g *gap, now time.Duration) {
	if g.told {
		return
	}
	g.told = true
	text := op + ": no success any more"
	if len(g.failed) > 0 {
		text += " (" + strings.Join(slices.Sorted(maps.Keys(g.failed)), ", ") + ")"
	}
	p.tellOutage(g.last, text, result.Outage{Op: op, FromS: g.last.Seconds(), ToS: now.Seconds(), Open: true})
}

func (p *phaseRun) outageEnds(op string, from, to time.Duration) {
	length := (to - from).Seconds()
	p.tellOutage(to, fmt.Sprintf("%s: recovered   outage %.2f s", op, length),
		result.Outage{Op: op, FromS: from.Seconds(), ToS: to.Seconds(), DurationS: length})
}

func (p *phaseRun) tellOutage(at time.Duration, text string, o result.Outage) {
	if p.drilling != nil {
		p.lines <- report.Entry{AtS: at.Seconds(), Source: "load", Text: text}.Line
	}
	if p.live != nil {
		p.live.Outage(o)
	}
}
