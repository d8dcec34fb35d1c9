package expose

import (
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// bucketSeconds is the width of the buckets in which successes are counted.
const bucketSeconds = float64(result.BucketWidth) / float64(time.Second)

// gaps follows, for each kind of operation, the time since its last success. It
// is the live view of an outage; the report's comes from the folder.
type gaps struct {
	threshold float64 // seconds
	phases    []result.RunPhase
	phase     int  // that runs, or -1
	ended     bool // the phase's end was seen: its stragglers open no gap
	byOp      map[string]*gap
}

// gap is the time without success of one kind of operation, seconds.
type gap struct {
	running   bool
	threshold float64 // from which length on it is an outage
	last      float64 // end of the last success, or when the phase began
	now       float64 // end of the last interval
	past      float64 // sum of the gaps that were outages and are over
}

func newGaps(info Info) *gaps {
	return &gaps{threshold: info.OutageThreshold.Seconds(), phases: info.Phases, phase: -1, byOp: map[string]*gap{}}
}

// advance takes the next interval. The interval before a phase may carry its
// beginning as a mark; the gaps then count from there.
func (g *gaps) advance(iv result.Interval) {
	if iv.Phase != g.phase {
		g.begin(iv.Phase, iv.FromS)
	}
	if iv.Mark != nil && iv.Mark.Begin {
		g.begin(iv.Phase, iv.ToS)
	}
	for op, at := range successes(iv.Cells) {
		g.follow(op, iv.FromS)
		g.byOp[op].successes(at, iv.FromS)
	}
	for _, gap := range g.byOp {
		gap.now = iv.ToS
	}
	if iv.Mark != nil && iv.Mark.End {
		g.end()
	}
}

func (g *gaps) begin(phase int, at float64) {
	g.end()
	g.phase, g.ended = phase, false
	if phase < 0 || phase >= len(g.phases) {
		return
	}
	for _, op := range g.phases[phase].Ops {
		g.follow(op, at)
	}
}

// follow begins to follow an operation at offset at, if it is not followed already.
func (g *gaps) follow(op string, at float64) {
	if g.byOp[op] == nil {
		g.byOp[op] = &gap{}
	}
	if gap := g.byOp[op]; !gap.running && !g.ended && g.phase >= 0 {
		gap.running, gap.last, gap.now = true, at, at
		gap.threshold = g.thresholdOf(op)
	}
}

// rareFactor: an operation with a low rate is out only from this many times the
// time between two of them on.
const rareFactor = 5

func (g *gaps) thresholdOf(op string) float64 {
	if g.phase < len(g.phases) {
		if rate := g.phases[g.phase].Rates[op]; rate > 0 {
			return max(g.threshold, rareFactor/rate)
		}
	}
	return g.threshold
}

func (g *gaps) end() {
	g.ended = true
	for _, gap := range g.byOp {
		gap.close(gap.now)
		gap.running = false
	}
}

func (g *gaps) phaseName() string {
	if g.phase < len(g.phases) {
		return g.phases[g.phase].Name
	}
	return ""
}

// successes lists the buckets with successes of each operation that has a cell,
// in order; warm-up and measured cells are one operation.
func successes(cells []result.Cell) map[string][]uint64 {
	at := map[string][]uint64{}
	for _, c := range cells {
		at[c.Op] = append(at[c.Op], bucketsOf(c.OKAt)...)
	}
	for _, buckets := range at {
		slices.Sort(buckets)
	}
	return at
}

func bucketsOf(s result.Series) (at []uint64) {
	for i, n := range s.N {
		if n > 0 {
			at = append(at, s.From+uint64(i))
		}
	}
	return at
}

// successes ends the gap at each success. None ends before from, where the
// interval begins: that much of the gap may have been told already.
func (g *gap) successes(buckets []uint64, from float64) {
	if !g.running {
		return
	}
	for _, b := range buckets {
		g.close(max(float64(b)*bucketSeconds, from))
		g.last = max(g.last, float64(b+1)*bucketSeconds)
	}
}

// close adds the gap, if it was an outage, to the past ones.
func (g *gap) close(at float64) {
	if g.running && at-g.last > g.threshold {
		g.past += at - g.last
		g.last = at
	}
}

// out is 1 while the gap is an outage.
func (g *gap) out() float64 {
	if g.running && g.now-g.last > g.threshold {
		return 1
	}
	return 0
}

func (g *gap) outSeconds() float64 {
	return g.past + g.out()*(g.now-g.last)
}
