package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

// poll looks at AWS until check is content, which is nil or an error that says
// what is still missing. An error of AWS that is not going to pass ends it.
func (e Env) poll(ctx context.Context, check func(context.Context) error) error {
	said := time.Now()
	return pollEvery(ctx, e.Every, func(ctx context.Context) error {
		err := check(ctx)
		if err != nil && ctx.Err() == nil && time.Since(said) > waitingNoted && e.Note != nil {
			e.Note("waiting: %v", err)
			said = time.Now()
		}
		return err
	})
}

// waitingNoted is how often it is said what is waited for.
const waitingNoted = time.Minute

// pollEvery says at the end of ctx what was missing at the last look that was not
// cut short.
func pollEvery(ctx context.Context, every time.Duration, check func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var missing error
	for {
		err := check(ctx)
		cut := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
		if err == nil || lasting(err, cut) {
			return err
		}
		if !cut || missing == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), missing)
		case <-tick.C:
		}
	}
}

// lasting tells whether looking again can do nothing about err. Of a look that was
// cut short AWS's part says nothing.
func lasting(err error, cut bool) bool {
	var e *aws.Error
	return errors.As(err, new(final)) || !cut && errors.As(err, &e) && !e.Transient()
}

// final is an error that ends a poll.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

const (
	glance = 50 * time.Millisecond
	// noticed is by when the nodes' samples tell what has happened: they are taken
	// once a second, and on a crowded host one may miss a node that is well.
	noticed = 5 * time.Second
)

// soon is content as soon as check is of what the nodes say.
func soon(ctx context.Context, check func() error) error {
	within, cancel := context.WithTimeout(ctx, noticed)
	defer cancel()
	var missing error
	_ = pollEvery(within, glance, func(context.Context) error {
		missing = check()
		return missing
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return missing
}

// lull is for how long nothing has gone on. The zero value is for no time.
type lull struct{ since time.Time }

// lasts tells whether it has been for longer than d.
func (l *lull) lasts(d time.Duration) bool {
	if l.since.IsZero() {
		l.since = time.Now()
	}
	return time.Since(l.since) > d
}

func (l *lull) end() { l.since = time.Time{} }
