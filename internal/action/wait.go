package action

import (
	"context"
	"time"
)

// wait does nothing for a time.
type wait struct {
	base
}

func (*wait) Start(context.Context) error { return nil }

func (w *wait) Settle(ctx context.Context) error {
	timer := time.NewTimer(w.step.For)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
