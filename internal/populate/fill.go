package populate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
)

// batch is the members of one ZADD: large enough that the round trip does not
// count, small enough that the server stays responsive in between.
const batch = 1000

// tellEvery is how often the progress is told, and saveEvery, in ticks of it,
// the marker.
const (
	tellEvery = 250 * time.Millisecond
	saveEvery = 4
)

// fill sends all positions from st.next on.
func fill(ctx context.Context, s Store, o Options, st *state) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := newFiller(o, st.next)
	f.tell(st.next)
	var wg sync.WaitGroup
	for i := range f.inFlight {
		wg.Go(func() {
			if err := f.run(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	saved := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		err := f.save(ctx, s, finished)
		if err != nil {
			cancel(err) // at once: a fill that cannot be resumed is not worth going on with
		}
		close(saved)
	}()
	wg.Wait()
	close(finished)
	<-saved
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("fill %q: stopped at %d of %d members (run it again to go on from there): %w",
			o.Ranking.Key, f.arrived(), o.Ranking.Members, err)
	}
	return nil
}

// filler shares the positions among the connections, batch by batch, in order.
type filler struct {
	options  Options
	perm     *ranking.Permutation // of positions, for random order
	from     int64
	next     atomic.Int64   // first position not taken
	inFlight []atomic.Int64 // by connection: first position taken and not arrived; idle when none
}

const idle = int64(1) << 62

func newFiller(o Options, from int64) *filler {
	n := o.Connections
	if n <= 0 {
		n = DefaultConnections
	}
	f := &filler{options: o, from: from, inFlight: make([]atomic.Int64, n)}
	f.next.Store(from)
	for i := range f.inFlight {
		f.inFlight[i].Store(from) // nothing has arrived until each has begun
	}
	if o.Random {
		p := ranking.NewPermutation(uint64(o.Ranking.Members), o.Ranking.Seed^randomOrderSalt)
		f.perm = &p
	}
	return f
}

const randomOrderSalt = 0x6f72646572 // "order"

// run is one connection: it takes a batch, sends it, and takes the next.
func (f *filler) run(ctx context.Context, connection int) error {
	b := newBatch(f)
	for ctx.Err() == nil {
		// Claim before taking, so that arrived never passes a batch on its way.
		f.inFlight[connection].Store(f.next.Load())
		from := f.next.Add(batch) - batch
		f.inFlight[connection].Store(from)
		if from >= f.options.Ranking.Members {
			f.inFlight[connection].Store(idle)
			return nil
		}
		if err := b.send(ctx, from, min(from+batch, f.options.Ranking.Members)); err != nil {
			return err
		}
	}
	return nil
}

// arrived is the position below which every member has arrived.
func (f *filler) arrived() int64 {
	low := min(f.next.Load(), f.options.Ranking.Members)
	for i := range f.inFlight {
		low = min(low, f.inFlight[i].Load())
	}
	return low
}

// save tells the marker and the progress now and then, and at the end.
func (f *filler) save(ctx context.Context, s Store, finished <-chan struct{}) error {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	ctx = context.WithoutCancel(ctx) // how far it came is worth knowing after an interrupt
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-finished:
			return f.saveOnce(ctx, s)
		}
		f.tell(f.arrived())
		if n%saveEvery != 0 {
			continue
		}
		if err := f.saveOnce(ctx, s); err != nil {
			return err
		}
	}
}

func (f *filler) saveOnce(ctx context.Context, s Store) error {
	at := f.arrived()
	f.tell(at)
	if err := s.SetMarker(ctx, progressFields(at)); err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	return nil
}

func (f *filler) tell(done int64) {
	if f.options.Progress != nil {
		f.options.Progress(done, f.options.Ranking.Members)
	}
}

// oneBatch makes the members of a batch in buffers that are used again.
type oneBatch struct {
	filler   *filler
	appender Appender
	buf      []byte
	members  []string
	scores   []float64
}

func newBatch(f *filler) *oneBatch {
	return &oneBatch{filler: f, appender: f.options.Appender(batch)}
}

func (b *oneBatch) send(ctx context.Context, from, to int64) error {
	b.buf, b.members, b.scores = b.buf[:0], b.members[:0], b.scores[:0]
	r := b.filler.options.Ranking
	for pos := from; pos < to; pos++ {
		p := pos
		if b.filler.perm != nil {
			p = int64(b.filler.perm.At(uint64(pos)))
		}
		id, score := r.At(p)
		at := len(b.buf)
		b.buf = r.AppendMember(b.buf, id)
		b.members = append(b.members, ranking.View(b.buf[at:]))
		b.scores = append(b.scores, score)
	}
	return b.appender.Add(ctx, b.members, b.scores)
}
