package self

import (
	"context"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// pauseTick is how often a watch looks at the clock; pauseMin is from how long
// between two looks on the process, or its host, stood still. Timers are about
// a millisecond late; what is ten times a tick is no lateness of a timer.
const (
	pauseTick = 10 * time.Millisecond
	pauseMin  = 100 * time.Millisecond
)

// Pauses finds the stretches in which the process did not run: stopped,
// starved of processor time, or on a host that slept. No answer is noticed in
// them, so that they look like outages of the service.
type Pauses struct {
	mu    sync.Mutex
	found []result.Pause
}

// Watch looks until ctx ends; now is the run's clock.
func (p *Pauses) Watch(ctx context.Context, now func() time.Duration) {
	tick := time.NewTicker(pauseTick)
	defer tick.Stop()
	for last := now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := now()
		if at-last > pauseMin {
			p.add(result.Pause{FromS: last.Seconds(), ToS: at.Seconds()})
		}
		last = at
	}
}

func (p *Pauses) add(pause result.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, pause)
}

// Take returns the pauses found since the last Take.
func (p *Pauses) Take() []result.Pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.found
	p.found = nil
	return found
}
