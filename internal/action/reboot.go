package action

import (
	"context"
	"fmt"

	"github.com/rankbench/rankbench/internal/aws"
)

// reboot is RebootCacheCluster.
type reboot struct {
	base
	id     string
	server string // run id of the process that is to go; "" where it is not known
	called Mark
}

func (r *reboot) Start(ctx context.Context) error {
	g, err := r.AWS.Group(ctx, r.Group)
	if err != nil {
		return err
	}
	if r.id, err = r.node(ctx, g); err != nil {
		return err
	}
	r.server = r.byID()[r.id].RunID
	r.called = r.Console.Mark()
	_, err = r.call(ctx, func(ctx context.Context) (aws.Call, error) { return r.AWS.Reboot(ctx, r.id) })
	return err
}

func (r *reboot) Settle(ctx context.Context) error { return r.poll(ctx, r.settled) }

func (r *reboot) settled(ctx context.Context) error {
	said := r.Console.Has(r.called, func(x aws.Fact) bool { return x.Kind == aws.NodeRestarted && x.Node == r.id })
	_, err := r.healthy(ctx)
	if err == nil && r.server != "" && r.byID()[r.id].RunID == r.server {
		err = fmt.Errorf("%s is not restarted yet", r.id)
	}
	if err != nil {
		r.calm.end()
		return err
	}
	return r.patience(said, "that "+r.id+" is restarted")
}
