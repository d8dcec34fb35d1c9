package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// gap is what the lines of a drill say of one operation while it runs: a look
// ahead at the outages that the summary has to the end.
type gap struct {
	last   time.Duration // end of the last bucket with a success
	told   bool          // that there is none any more
	failed map[string]uint64
}

// tellOutages prints when an operation has no success any more, and when it has
// again. Cells are those of the interval that ends now.
func (p *phaseRun) tellOutages(now time.Duration, cells []result.Cell) {
	threshold := p.o.Scenario.OutageThreshold
	for _, c := range cells {
		g := p.gaps[c.Op]
		if g == nil {
			g = &gap{last: p.from, failed: map[string]uint64{}}
			p.gaps[c.Op] = g
		}
		for class, f := range c.Errors {
			g.failed[class] += f.N
		}
		for i, n := range c.OKAt.N {
			if n == 0 {
				continue
			}
			at := time.Duration(c.OKAt.From+uint64(i)) * result.BucketWidth
			if at-g.last > threshold {
				p.tellGap(g.last, g.told, c.Op, g.failed)
				p.tellLoad(at, fmt.Sprintf("%s: recovered   outage %.2f s", c.Op, (at-g.last).Seconds()))
			}
			g.last, g.told, g.failed = at+result.BucketWidth, false, map[string]uint64{}
		}
	}
	for op, g := range p.gaps {
		if now-g.last > threshold {
			p.tellGap(g.last, g.told, op, g.failed)
			g.told = true
		}
	}
}

func (p *phaseRun) tellGap(at time.Duration, told bool, op string, failed map[string]uint64) {
	if told {
		return
	}
	text := op + ": no success any more"
	if len(failed) > 0 {
		text += " (" + strings.Join(slices.Sorted(maps.Keys(failed)), ", ") + ")"
	}
	p.tellLoad(at, text)
}

func (p *phaseRun) tellLoad(at time.Duration, text string) {
	p.lines <- report.Entry{AtS: at.Seconds(), Source: "load", Text: text}.Line
}
