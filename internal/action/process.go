package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/scenario"
)

// process sends a signal to the process of a local node.
type process struct {
	base
	id     string
	pid    int    // 0 = no signal was sent
	server string // run id of what ran there; "" where it is not known
}

var signals = map[string]syscall.Signal{scenario.Kill: syscall.SIGKILL, scenario.Hang: syscall.SIGSTOP, scenario.Resume: syscall.SIGCONT}

func (p *process) Start(ctx context.Context) error {
	g, err := p.AWS.Group(ctx, p.Group)
	if err != nil {
		return err
	}
	if p.step.Kind == scenario.Resume && len(p.step.Nodes) == 0 {
		p.id, err = p.hanging(ctx, g)
	} else {
		p.id, err = p.node(ctx, g)
	}
	if err != nil {
		return err
	}
	pid := p.Pid(p.id)
	if pid <= 0 {
		return fmt.Errorf("%s has no process", p.id)
	}
	p.server = p.byID()[p.id].RunID
	p.Note("%s: %v to process %d", p.id, signals[p.step.Kind], pid)
	if err := syscall.Kill(pid, signals[p.step.Kind]); err != nil {
		return fmt.Errorf("signal %s: %w", p.id, err)
	}
	p.pid = pid
	return nil
}

// hanging finds the node that hangs in a node group. It says nothing, not even its
// role: of several it is the one that had the role when it last said something.
func (p *process) hanging(ctx context.Context, g aws.Group) (id string, err error) {
	s, err := p.shard(g, p.step.NodeGroup)
	if err != nil {
		return "", err
	}
	err = soon(ctx, func() error {
		silent := p.silent(s)
		if len(silent) > 1 {
			silent = slices.DeleteFunc(silent, func(id string) bool { return p.followed(s, id) != (p.step.Role == primary) })
		}
		if len(silent) != 1 {
			return fmt.Errorf("node group %s has no node, or not only one, that hangs and was a %s", s.ID, p.step.Role)
		}
		id = silent[0]
		return nil
	})
	return id, err
}

// silent lists the members that have a process and do not answer.
func (p *process) silent(s aws.Shard) (ids []string) {
	said := p.byID()
	for _, id := range members(s) {
		if !said[id].Up && p.Pid(id) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// followed tells whether a replica of the shard has the node for its primary.
func (p *process) followed(s aws.Shard, id string) bool {
	said := p.byID()
	return slices.ContainsFunc(members(s), func(other string) bool {
		n := said[other]
		return n.Up && n.Role == replica && n.PrimaryAddr == said[id].Addr
	})
}

// Settle waits for everything to be healthy again. A node that hangs stays so
// until a later step or the end: there is nothing to wait for.
func (p *process) Settle(ctx context.Context) error {
	if p.step.Kind == scenario.Hang {
		return nil
	}
	return p.poll(ctx, func(ctx context.Context) error {
		if err := p.replaced(); err != nil {
			return err
		}
		_, err := p.healthy(ctx)
		return err
	})
}

// replaced wants another process in the place of one that was killed: the death
// takes a while to be noticed, and until then everything looks healthy.
func (p *process) replaced() error {
	if p.step.Kind != scenario.Kill {
		return nil
	}
	pid, n := p.Pid(p.id), p.byID()[p.id]
	if pid <= 0 || pid == p.pid || p.server != "" && n.RunID == p.server {
		return fmt.Errorf("%s is not replaced yet", p.id)
	}
	return nil
}

// Restore lets a node go on that was hung. If that process is gone, so is the hang.
func (p *process) Restore(context.Context) error {
	if p.step.Kind != scenario.Hang || p.pid == 0 {
		return nil
	}
	if now := p.Pid(p.id); now > 0 && now != p.pid {
		return nil
	}
	p.Note("%s: %v to process %d", p.id, syscall.SIGCONT, p.pid)
	if err := syscall.Kill(p.pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s: %w", p.id, err)
	}
	return nil
}
