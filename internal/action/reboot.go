package action

import (
	"context"
	"errors"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

// reboot is RebootCacheCluster.
type reboot struct {
	base
	id     string
	called time.Time
}

func (r *reboot) Start(ctx context.Context) error {
	g, err := r.AWS.Group(ctx, r.Group)
	if err != nil {
		return err
	}
	if r.id, err = r.node(g); err != nil {
		return err
	}
	call, err := r.call(ctx, func(ctx context.Context) (aws.Call, error) { return r.AWS.Reboot(ctx, r.id) })
	r.called = call.At
	return err
}

func (r *reboot) Settle(ctx context.Context) error {
	return r.poll(ctx, func(ctx context.Context) error {
		if !r.Console.Has(r.called, func(x aws.Fact) bool { return x.Kind == aws.NodeRestarted && x.Node == r.id }) {
			return errors.New("no event has told that " + r.id + " is restarted")
		}
		_, err := r.healthy(ctx)
		return err
	})
}
