package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poll calls check until it is content. It gives up when ctx ends, with check's
// last complaint, or when the complaint is that a process has ended.
func poll(ctx context.Context, check func(context.Context) error) error {
	return pollEvery(ctx, lookEvery, check)
}

func pollEvery(ctx context.Context, every time.Duration, check func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var complaint error
	for {
		err := check(ctx)
		var exit *exitError
		if err == nil || errors.As(err, &exit) {
			return err
		}
		// Once ctx has ended, "context canceled" hides the last real complaint.
		if complaint == nil || ctx.Err() == nil {
			complaint = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting: %w", context.Cause(ctx), complaint)
		case <-tick.C:
		}
	}
}
