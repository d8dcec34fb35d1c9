package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

const (
	// endsWithin is what an owner gets to stop its nodes; they get 3 s.
	endsWithin = 10 * time.Second
	// diesWithin bounds the wait after SIGKILL.
	diesWithin = 5 * time.Second
	lookEvery  = 50 * time.Millisecond
)

// End ends the local ElastiCache of the folder dir and returns when its
// processes and files are gone. It asks the owner first, and kills one that does
// not listen. The errors of Read come back as they are, with nothing done.
func End(ctx context.Context, dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	if err := signal(s.Owner, syscall.SIGTERM); err != nil {
		return err
	}
	if gone(ctx, s.Owner, endsWithin) {
		return tidy(dir, s)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("end local ElastiCache: %w", ctx.Err())
	}
	if err := signal(s.Owner, syscall.SIGKILL); err != nil {
		return err
	}
	if !gone(ctx, s.Owner, diesWithin) {
		return fmt.Errorf("end local ElastiCache: process %d survives SIGKILL", s.Owner.PID)
	}
	return tidy(dir, s)
}

// Clean removes what a killed owner has left: processes, their files, the state.
// The error is ErrUp if the owner is alive, and nil if there is nothing to do.
func Clean(dir string) error {
	s, err := Read(dir)
	switch {
	case err == nil:
		return ErrUp
	case errors.Is(err, ErrNone):
		return nil
	case errors.Is(err, ErrStale):
		return tidy(dir, s)
	}
	return err
}

// tidy removes what a dead owner has left, which is nothing if it ended well.
func tidy(dir string, s State) error {
	errs := []error{Remove(dir)}
	for _, d := range s.Dirs {
		errs = append(errs, cluster.Reclaim(d))
	}
	return errors.Join(errs...)
}

// signal sends to exactly the process that was recorded.
func signal(p cluster.Process, s os.Signal) error {
	if !p.Alive() {
		return nil
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("end local ElastiCache: %w", err)
	}
	if err := proc.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end local ElastiCache: signal process %d: %w", p.PID, err)
	}
	return nil
}

// gone waits until p has ended, and tells whether it has.
func gone(ctx context.Context, p cluster.Process, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for p.Alive() {
		select {
		case <-ctx.Done():
			return !p.Alive()
		case <-tick.C:
		}
	}
	return true
}
