package observe

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// canaryLives is when a canary that nobody overwrites is gone, milliseconds.
const canaryLives = 60_000

// The cells of the canary. A primary is read, too: it serves the reads where
// there is no replica, and while it is alone after a failover.
const (
	cellWrite       = "write"
	cellRead        = "read"
	cellReadPrimary = "read_primary"
)

// cellsOf are the cells that a node of a role has a part in. While no node has
// said its role, each may have any.
var cellsOf = map[string][]string{
	"":        {cellWrite, cellRead},
	"primary": {cellWrite, cellReadPrimary},
	"replica": {cellRead},
}

// subject is one node that the probe asks, with a connection of its own. Only
// its goroutine touches it.
type subject struct {
	probe   *Probe
	addr    string
	now     func() time.Duration
	role    string   // as it last answered
	session *session // nil: not connected
}

// question asks for the role and for the canary at once, as the role was the
// time before. When it is another now, what came of that does not count, and the
// canary that goes with it is asked for without waiting for the next tick.
func (s *subject) question(run context.Context) {
	ctx, cancel := context.WithTimeout(run, s.probe.ask.Timeout)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		s.failed(run, err)
		return
	}
	role, canary, err := s.send(ctx)
	if err != nil {
		s.failed(run, err)
		return
	}
	s.probe.roles.heard(s.addr, s.now(), role)
	if role.name != s.role {
		s.role = role.name
		if !s.keep(canary) {
			return
		}
		canary = s.commands(ctx)
		s.pipe(ctx, canary)
	}
	s.answered(run, canary)
}

// send asks, and returns the role and the canary's commands with what became of them.
func (s *subject) send(ctx context.Context) (role, []canaryCommand, error) {
	ask, canary := redis.NewCmd(ctx, "role"), s.commands(ctx)
	s.pipe(ctx, canary, ask)
	r, err := readRole(ask)
	return r, canary, err
}

// pipe sends first and then the canary in one pipeline.
func (s *subject) pipe(ctx context.Context, canary []canaryCommand, first ...*redis.Cmd) {
	p := s.session.client.Pipeline()
	for _, cmd := range first {
		_ = p.Process(ctx, cmd) // it is only queued
	}
	asking := len(canary) > 0 && s.probe.asks.due(s.addr, s.now())
	for _, c := range canary {
		if asking {
			_ = p.Do(ctx, "asking") // what it fails with, the command after it does, too
		}
		_ = p.Process(ctx, c.cmd)
	}
	_, _ = p.Exec(ctx) // each command has its own error
}

// failed charges a question without an answer to what the node was for, unless
// the end of the run cut it short. The cells come first: who reads them after an
// event finds what led to it.
func (s *subject) failed(run context.Context, err error) {
	if !over(run) {
		for _, cell := range cellsOf[s.probe.roles.of(s.addr)] {
			s.probe.cells.record(cell, s.now(), err)
		}
		s.probe.roles.failed(s.addr, s.now())
	}
	if !isServing(err) {
		s.hangUp()
	}
}

func readRole(cmd *redis.Cmd) (role, error) {
	reply, err := cmd.Slice()
	if err != nil {
		return role{}, err
	}
	return parseRole(reply)
}

// connect makes a connection on which a replica in a cluster answers reads. A
// server that is no cluster refuses READONLY, and answers them all the same.
func (s *subject) connect(ctx context.Context) error {
	if s.session != nil {
		return nil
	}
	var err error
	if s.session, err = dial(ctx, s.addr, s.probe.opt); err != nil || !s.probe.opt.Cluster {
		return err
	}
	if err = s.session.client.Do(ctx, "readonly").Err(); isReply(err) && !isAuth(err) {
		return nil
	}
	return err
}

func (s *subject) hangUp() {
	if s.session != nil {
		_ = s.session.close() // what it failed with is counted; closing has nothing to add
		s.session = nil
	}
}

// answered counts what became of the canary's commands, but what the end of the
// run cut short.
func (s *subject) answered(run context.Context, canary []canaryCommand) {
	for _, c := range canary {
		if err := c.err(); err == nil || !over(run) {
			s.record(c.cell, err)
		}
	}
	s.keep(canary)
}

// keep hangs up if the connection is not as good as before, and says whether it is.
func (s *subject) keep(canary []canaryCommand) bool {
	for _, c := range canary {
		if !isServing(c.err()) {
			s.hangUp()
			return false
		}
	}
	return true
}

type canaryCommand struct {
	cell string
	cmd  *redis.Cmd
}

// err is why the command failed; that there is no canary is no failure.
func (c canaryCommand) err() error {
	if err := c.cmd.Err(); !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// commands write and read the canary, as the role is.
func (s *subject) commands(ctx context.Context) []canaryCommand {
	key := s.probe.ask.Key
	get := redis.NewCmd(ctx, "get", key)
	switch s.role {
	case "primary":
		set := redis.NewCmd(ctx, "set", key, s.probe.token, "px", canaryLives)
		return []canaryCommand{{cellWrite, set}, {cellReadPrimary, get}}
	case "replica":
		return []canaryCommand{{cellRead, get}}
	}
	return nil
}

// record counts an answer. MOVED says that the slot is none of this node's, and
// ASK that another node has the key now: neither is asked for the service then.
func (s *subject) record(cell string, err error) {
	if _, moved := redis.IsMovedError(err); moved {
		return
	}
	if addr, ask := redis.IsAskError(err); ask {
		s.probe.asks.send(s.probe.roles.canonical(addr), s.now())
		return
	}
	s.probe.cells.record(cell, s.now(), err)
	if cell == cellWrite && err == nil {
		s.probe.roles.wrote(s.addr, s.now())
	}
}

// isServing says whether a connection is as good as before: the server has
// answered on it, and neither the driver nor a login would give it up for that.
func isServing(err error) bool {
	return err == nil || isReply(err) && !redis.IsReadOnlyError(err) && !isAuth(err)
}
