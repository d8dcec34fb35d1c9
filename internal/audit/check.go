package audit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Reader reads from the primary, safe for concurrent use; target.Store is one.
type Reader interface {
	// Scores returns the members' scores; ok[i] is false where one is not
	// there. The members hold until it returns.
	Scores(ctx context.Context, members []string) (scores []float64, ok []bool, err error)
}

// Options say how to read back. The zero value is fine.
type Options struct {
	Connections int                  // reads in parallel; 0 is 4
	Batch       int                  // members of a read; 0 is 1000
	Fresh       bool                 // the ranking was filled for this run: nothing but its Sets has changed a member
	Progress    func(done, of int64) // told after each read, one at a time; may be nil
}

const (
	defaultConnections = 4
	defaultBatch       = 1000
)

// Check freezes the ledger for good, waits for the answers of the Sets in
// flight, reads all members that were ever written, and reports. From its
// beginning on a Set through the ledger is refused with ErrFrozen and not sent,
// so that what is read is final. After an error the report holds what was
// checked until then; Check may be called again, and reads everything again.
func (l *Ledger) Check(ctx context.Context, r Reader, o Options) (Report, error) {
	l.frozen.Store(true)
	of, err := l.awaitAnswers(ctx)
	if err != nil {
		return Report{}, err
	}
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.Batch <= 0 {
		o.Batch = defaultBatch
	}
	c := &checker{ledger: l, reader: r, options: o, of: of}
	t, err := c.runAll(ctx)
	return l.report(t), err
}

// awaitAnswers returns how many members are to be read when no Set is in flight.
func (l *Ledger) awaitAnswers(ctx context.Context) (written int64, err error) {
	poll := time.NewTicker(tick)
	defer poll.Stop()
	for id := range l.words {
		for l.words[id].Load()&inFlight != 0 {
			select {
			case <-poll.C:
			case <-ctx.Done():
				return 0, fmt.Errorf("audit %q: wait for the answers of Sets in flight: %w", l.ranking.Key, context.Cause(ctx))
			}
		}
		if l.written(int64(id)) {
			written++
		}
	}
	return written, nil
}

// checker shares the members among the connections, span by span.
type checker struct {
	ledger  *Ledger
	reader  Reader
	options Options
	next    atomic.Int64 // first member not taken

	mu       sync.Mutex // guards what follows
	done, of int64
	sum      tally
}

// span is how many members a connection takes at a time, written or not.
const span = 1 << 14

func (c *checker) runAll(ctx context.Context) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.tell(0)
	var wg sync.WaitGroup
	for range c.options.Connections {
		wg.Go(func() {
			if err := c.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return c.sum, fmt.Errorf("audit %q: stopped at %d of %d members: %w", c.ledger.ranking.Key, c.done, c.of, err)
	}
	return c.sum, nil
}

// run is one connection.
func (c *checker) run(ctx context.Context) error {
	var b batch
	var t tally
	defer func() { c.add(t) }()
	for id, ok := c.take(); ok; id, ok = c.take() {
		for end := min(id+span, c.ledger.ranking.Members); id < end; id++ {
			if !c.ledger.written(id) {
				continue
			}
			b.add(c.ledger.ranking, id)
			if len(b.ids) < c.options.Batch {
				continue
			}
			if err := c.read(ctx, &b, &t); err != nil {
				return err
			}
		}
	}
	return c.read(ctx, &b, &t)
}

func (c *checker) take() (from int64, ok bool) {
	from = c.next.Add(span) - span
	return from, from < c.ledger.ranking.Members
}

func (c *checker) add(t tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.add(t)
}

// read reads and judges a batch, and empties it.
func (c *checker) read(ctx context.Context, b *batch, t *tally) error {
	if len(b.ids) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	scores, ok, err := c.reader.Scores(ctx, b.members)
	if err != nil {
		return err
	}
	if len(scores) != len(b.ids) || len(ok) != len(b.ids) {
		return fmt.Errorf("read %d members: %d scores came back", len(b.ids), len(scores))
	}
	for i, id := range b.ids {
		t.judge(c.ledger, id, scores[i], ok[i], c.options.Fresh)
	}
	c.tell(len(b.ids))
	b.clear()
	return nil
}

func (c *checker) tell(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += int64(n)
	if c.options.Progress != nil {
		c.options.Progress(c.done, c.of)
	}
}
