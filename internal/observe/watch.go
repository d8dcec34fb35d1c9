package observe

import (
	"context"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// Watch samples at once and then at each tick of every, until ctx ends. It
// hands each round to sample and then each change since the round before to
// event, both from the caller's goroutine: role changes, nodes that became
// unreachable or came back, replication links, restarts, nodes that joined or
// left the topology; role changes not with Options.RolesByProbe. A round cut short by the end of ctx is not handed on. A
// node that hangs makes rounds as long as the timeout; ticks it misses are not
// made up for.
func (o *Observer) Watch(ctx context.Context, every time.Duration, now func() time.Duration,
	sample func([]result.NodeSample), event func(result.Event),
) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	changes := newChanges(!o.opt.RolesByProbe)
	for {
		seen := o.round(ctx, now)
		if over(ctx) {
			return
		}
		sample(samplesOf(seen))
		for _, e := range changes.since(seen) {
			event(e)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// over says whether ctx has ended. A connection whose deadline is that of ctx may
// fail an instant before ctx itself knows: that is no node's failure.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}
