package action

import (
	"context"
	"fmt"
	"syscall"

	"github.com/rankbench/rankbench/internal/scenario"
)

// process sends a signal to the process of a local node.
type process struct {
	base
	id string
}

var signals = map[string]syscall.Signal{scenario.Kill: syscall.SIGKILL, scenario.Hang: syscall.SIGSTOP, scenario.Resume: syscall.SIGCONT}

func (p *process) Start(ctx context.Context) error {
	g, err := p.AWS.Group(ctx, p.Group)
	if err != nil {
		return err
	}
	if p.id, err = p.node(g); err != nil {
		return err
	}
	return p.signal(signals[p.step.Kind])
}

func (p *process) signal(s syscall.Signal) error {
	pid := p.Pid(p.id)
	if pid <= 0 {
		return fmt.Errorf("%s has no process", p.id)
	}
	p.Note("%s: %v to process %d", p.id, s, pid)
	if err := syscall.Kill(pid, s); err != nil {
		return fmt.Errorf("signal %s: %w", p.id, err)
	}
	return nil
}

// Settle waits for everything to be healthy again. A node that hangs stays so
// until a later step or the end: there is nothing to wait for.
func (p *process) Settle(ctx context.Context) error {
	if p.step.Kind == scenario.Hang {
		return nil
	}
	return p.poll(ctx, func(ctx context.Context) error {
		_, err := p.healthy(ctx)
		return err
	})
}

// Restore lets a node go on that was hung.
func (p *process) Restore(context.Context) error {
	if p.step.Kind != scenario.Hang || p.id == "" || p.Pid(p.id) <= 0 {
		return nil
	}
	return p.signal(syscall.SIGCONT)
}
