// Package live serves the page of a run while it goes on, for any number of
// viewers: it shows, and controls nothing. What the page looks like is page's
// business; here are the requests and the course of things.
//
//  1. A run hands over what it writes to its folder (Interval, Event), and outages
//     as they begin and end (Outage). That only queues it.
//  2. Run takes the queue into a page.Builder and a progress.Follower, and while
//     somebody looks on, makes a frame: the model, and its tail since the frame
//     before (frame.go). A model of a long run costs more than one of a short run:
//     the longer the last one took, the longer the next one waits.
//  3. Each viewer (viewer.go) has a stream of server-sent events. It is sent the
//     whole model first, then tails; one that came too late for a tail gets the
//     whole again.
//  4. Finish tells the viewers how the run ended. One that ends without it has gone.
package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/page"
	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/result"
)

// Page shows one run. Its methods are safe for concurrent use.
type Page struct {
	run  result.Run
	more bool // another run of a series follows

	mu      sync.Mutex
	queue   []any // result.Interval, result.Event, result.Outage, result.Summary
	viewers int
	state   state

	woken   chan struct{}
	painter painter
}

// state is what viewers are sent.
type state struct {
	frame    *frame          // the newest; nil as long as nobody looked on
	status   progress.Status // as of the last interval
	statusNo int
	ended    *page.Ended
	gone     bool          // without having ended
	changed  chan struct{} // closed when there is another state
}

// painter is what Run alone touches.
type painter struct {
	builder  *page.Builder
	follower *progress.Follower
	outages  []result.Outage
	final    *result.Summary
	dirty    bool      // there is something that no frame shows
	next     time.Time // of a frame
}

// New returns the page of a run. Its steps are those that it will do. More says that
// another run of a series follows.
func New(run result.Run, steps []progress.Step, more bool) *Page {
	f := progress.New(run, steps)
	return &Page{
		run: run, more: more, woken: make(chan struct{}, 1), state: state{status: f.Status(), changed: make(chan struct{})},
		painter: painter{builder: page.NewBuilder(run), follower: f},
	}
}

// Interval takes a line of intervals.ndjson.
func (p *Page) Interval(iv result.Interval) { p.put(iv) }

// Event takes a line of events.ndjson.
func (p *Page) Event(e result.Event) { p.put(e) }

// Outage takes an outage that has begun (Open), or ended. One that was handed over
// before, with the same operation and beginning, is replaced.
func (p *Page) Outage(o result.Outage) { p.put(o) }

// Finish tells how the run ended. Run returns when that is shown.
func (p *Page) Finish(sum result.Summary) { p.put(sum) }

func (p *Page) put(x any) {
	p.mu.Lock()
	p.queue = append(p.queue, x)
	p.mu.Unlock()
	p.wake()
}

func (p *Page) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // it is awake
	}
}

// Run makes what viewers are sent, until the run has finished or ctx ends.
func (p *Page) Run(ctx context.Context) {
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			p.publish(func(s *state) { s.gone = true })
			return
		case <-p.woken:
		case <-pace.C:
		}
		p.take()
		if wait := time.Until(p.painter.next); p.painter.dirty && wait > 0 && p.painter.final == nil {
			pace.Reset(wait)
			continue
		}
		p.paint()
		if p.painter.final != nil {
			p.end(*p.painter.final)
			return
		}
	}
}

// take takes what is queued.
func (p *Page) take() {
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	t := &p.painter
	news := false
	for _, x := range queue {
		t.dirty = true
		switch x := x.(type) {
		case result.Interval:
			news = true
			t.follower.Interval(x)
			_ = t.builder.Interval(x) // the folder's reader tells of a line that makes no sense
		case result.Event:
			t.follower.Event(x)
			t.builder.Event(x)
		case result.Outage:
			t.outage(x)
		case result.Summary:
			t.final = &x
		}
	}
	if news {
		p.publish(func(s *state) { s.status, s.statusNo = t.follower.Status(), s.statusNo+1 })
	}
}

func (t *painter) outage(o result.Outage) {
	for i, old := range t.outages {
		if old.Op == o.Op && old.FromS == o.FromS {
			t.outages[i] = o
			return
		}
	}
	t.outages = append(t.outages, o)
}

// publish changes what viewers are sent, and wakes them.
func (p *Page) publish(change func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.state)
	close(p.state.changed)
	p.state.changed = make(chan struct{})
}

func (p *Page) now() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// share is the part of one processor's time that models may take, and least the
// shortest time between two.
const (
	share = 0.005
	least = 900 * time.Millisecond
)

// paint makes a frame, if somebody looks on and there is something new.
func (p *Page) paint() {
	p.mu.Lock()
	viewers, before := p.viewers, p.state.frame
	p.mu.Unlock()
	t := &p.painter
	if viewers == 0 || !t.dirty && before != nil {
		return
	}
	began := time.Now()
	f := newFrame(t.model(), before)
	took := time.Since(began)
	t.dirty, t.next = false, began.Add(max(least, time.Duration(float64(took)/share)))
	p.publish(func(s *state) { s.frame = f })
}

// model is of what is known so far; at the end with what the summary says.
func (t *painter) model() page.Model {
	if t.final != nil {
		return t.builder.Model(*t.final)
	}
	outages := slices.Clone(t.outages)
	for i := range outages {
		if outages[i].Open {
			outages[i].ToS = t.follower.Status().ElapsedS
		}
	}
	return t.builder.Model(result.Summary{Outages: outages})
}

func (p *Page) end(sum result.Summary) {
	e := page.NewEnded(p.run, sum, p.more)
	p.publish(func(s *state) { s.ended = &e })
}
