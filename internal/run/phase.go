package run

import (
	"context"
	"io"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/measure"
	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// cutEvery is the length of an interval on disk.
const cutEvery = time.Second

// phaseRun is one phase while it runs.
type phaseRun struct {
	*session
	index    int
	phase    plan.Phase
	from     time.Duration // offset of its start
	measured time.Duration // offset of the end of its warm-up
	recorder *measure.Recorder
	lastCut  time.Duration
	window   analyze.Window
	printed  time.Duration // end of the last lines on the screen
	gaps     map[string]*gap
}

// runPhase runs one phase: a line with all counters before the first
// operation, a line a second, and one with all counters after the last answer.
func (s *session) runPhase(ctx context.Context, index int, ph plan.Phase) {
	nodes := s.boundaryNodes(ctx)
	from := s.now()
	p := &phaseRun{
		session: s, index: index, phase: ph, from: from, measured: from + ph.Warmup,
		recorder: measure.NewRecorder(from + ph.Warmup), lastCut: from, printed: from, gaps: map[string]*gap{},
	}
	p.boundary(nodes, result.PhaseBoundary{
		Begin: true, MeasuredFromS: p.measured.Seconds(), MeasuredToS: (from + ph.End()).Seconds(),
	})
	claimed, to := p.drive(ctx)
	p.cut()
	p.flushLines(min(to, s.now()), to <= p.measured)
	p.boundary(s.boundaryNodes(ctx), result.PhaseBoundary{
		End: true, MeasuredFromS: p.measured.Seconds(), MeasuredToS: max(to, p.measured).Seconds(), Claimed: claimedByName(ph, claimed),
	})
}

// drive runs the engine and cuts beside it. It returns when every answer is
// known; to is the offset at which the last operation could come due.
func (p *phaseRun) drive(ctx context.Context) (claimed load.Claimed, to time.Duration) {
	to = p.from + p.phase.End()
	workers := 0
	engine := *p.engine
	engine.Worker = func(j plan.Job, _ int) (load.Target, load.Recorder) {
		workers++
		return p.audited(p.client.Worker(workers)), p.recorder.Worker(j.Kind, j.Rate > 0, p.from)
	}
	interrupted := make(chan time.Duration, 1)
	unhook := context.AfterFunc(ctx, func() { interrupted <- p.now() })
	done := make(chan struct{})
	p.background.Go(func() { p.cutUntil(done) })
	claimed = engine.Run(ctx, p.phase, p.from)
	p.waitUntil(ctx, to) // a slow rate's last operation is long before the end
	done <- struct{}{}   // the cutter has stopped when this is taken
	if !unhook() {
		to = min(to, <-interrupted)
	}
	return claimed, to
}

func (s *session) waitUntil(ctx context.Context, at time.Duration) {
	timer := time.NewTimer(at - s.now())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// boundaryLimit is how long a phase's beginning and end wait for a node that
// does not answer, since its counts would be those of another moment.
const boundaryLimit = 2 * time.Second

// boundaryNodes asks all nodes for their counters, again while one of them
// does not answer, within a limit: a dead one never will. A drill does not stop its
// load for that.
func (s *session) boundaryNodes(ctx context.Context) []result.NodeSample {
	ctx = context.WithoutCancel(ctx)
	for began := s.now(); ; {
		nodes := s.observer.Sample(ctx, s.now)
		down := slices.ContainsFunc(nodes, func(n result.NodeSample) bool { return !n.Up })
		if !down || s.drilling != nil || s.now()-began > boundaryLimit {
			return nodes
		}
		s.waitUntil(ctx, s.now()+boundaryLimit/20)
	}
}

// cutUntil cuts every second, and where the warm-up ends, until done is written to.
func (p *phaseRun) cutUntil(done <-chan struct{}) {
	timer := time.NewTimer(cutEvery)
	defer timer.Stop()
	for due := p.nextCut(p.from); ; due = p.nextCut(max(due, p.now()-cutEvery)) {
		timer.Reset(due - p.now())
		select {
		case <-done:
			return
		case <-timer.C:
		}
		p.cutAt(due)
	}
}

// nextCut is the first offset after another at which an interval ends.
func (p *phaseRun) nextCut(after time.Duration) time.Duration {
	next := p.from + ((after-p.from)/cutEvery+1)*cutEvery
	if after < p.measured && p.measured < next {
		return p.measured
	}
	return next
}

func (p *phaseRun) cutAt(due time.Duration) {
	p.cut()
	if p.printDue(due) {
		p.flushLines(p.lastCut, due <= p.measured)
	}
}

// cut writes one interval.
func (p *phaseRun) cut() {
	now := p.now()
	cells, slip, err := p.recorder.Cut(now)
	self := p.selfSample(now, slip)
	iv := result.Interval{
		FromS: p.lastCut.Seconds(), ToS: now.Seconds(), Phase: p.index, Cells: cells, Nodes: p.takeNodes(), Self: &self, Probe: p.takeProbe(),
	}
	p.lastCut = now
	p.write(iv)
	p.keep(err)
	for _, c := range cells {
		p.keep(p.window.Add(c))
	}
	p.followOutages(now, cells)
}

func (s *session) selfSample(now time.Duration, slip *hdr.Histogram) result.SelfSample {
	x := s.sampler.Sample(now)
	pool := s.client.Pool()
	x.Pauses, x.AddedBySet = s.pauses.Take(), s.client.AddedBySet()
	x.PoolWaits, x.PoolTimeout, x.PoolWaitS = pool.Waits, pool.Timeouts, pool.WaitSeconds
	for _, d := range s.client.Drivers() {
		x.Commands += d.Attempts
	}
	enc, err := result.EncodeHistogram(slip)
	if err == nil {
		x.Slip = enc
	}
	return x
}

// boundary writes the line at a phase's beginning or end, with all counters as
// they are while no operation is in flight.
func (p *phaseRun) boundary(nodes []result.NodeSample, m result.PhaseBoundary) {
	now := p.now()
	self := p.selfSample(now, nil)
	p.takeNodes() // older than these
	iv := result.Interval{
		FromS: p.lastCut.Seconds(), ToS: now.Seconds(), Phase: p.index, Nodes: p.withDriver(nodes), Self: &self, Mark: &m,
	}
	p.lastCut = now
	p.write(iv)
}

// printDue says whether the lines of a screen interval are complete at a cut:
// every o.Interval of the measured part and of the warm-up, and where the
// warm-up ends. The end of the phase prints what is left.
func (p *phaseRun) printDue(cut time.Duration) bool {
	if cut == p.measured && p.phase.Warmup > 0 {
		return true
	}
	if cut >= p.from+p.phase.End() {
		return false
	}
	origin := p.from
	if cut > p.measured {
		origin = p.measured
	}
	return (cut-origin)%p.o.Interval < cutEvery && cut-p.printed >= p.o.Interval/2
}

// flushLines prints what was seen since the last lines, up to offset to; warm
// says that it was the warm-up.
func (p *phaseRun) flushLines(to time.Duration, warm bool) {
	length := (to - p.printed).Seconds()
	ops := p.window.Close(length)
	p.printed = to
	if length <= 0 {
		return
	}
	for _, j := range p.phase.Jobs { // one that hangs has no outcome, and a line of zeros
		if _, ok := ops[j.Kind.String()]; !ok {
			ops[j.Kind.String()] = result.OpSummary{}
		}
	}
	period := report.Period{Wall: p.start.Add(to), Phase: p.phase.Name, Warmup: warm, Seconds: length, Ops: ops}
	p.lines <- func(w io.Writer) error { return report.Lines(w, period) }
}

func claimedByName(ph plan.Phase, c load.Claimed) map[string]uint64 {
	out := map[string]uint64{}
	for _, j := range ph.Jobs {
		out[j.Kind.String()] = c[j.Kind]
	}
	return out
}
