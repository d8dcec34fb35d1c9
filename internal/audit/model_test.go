package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

var (
	errRefused = errors.New("refused")
	errTimeout = errors.New("timeout")
	errMissing = errors.New("missing")
)

func classify(err error) load.Class {
	switch {
	case errors.Is(err, errRefused):
		return load.Refused
	case errors.Is(err, errMissing):
		return load.Missing
	default:
		return load.Timeout
	}
}

// change is one applied command of the simulated store's log.
type change struct {
	member string
	score  float64
	gone   bool
}

// sim is a store with failures of all kinds, and workers that are coroutines:
// in the middle of each operation they yield, so that a seed decides how
// operations overlap.
type sim struct {
	*history
	draw   ranking.Stream
	now    time.Duration
	log    []change // what the primary has applied, in its order
	late   []change // sent, and applied some time later or never
	values []float64
	ledger *audit.Ledger
}

func (s *sim) below(n int) int { return int(s.draw.Below(uint64(n))) }

// state is the store after so many entries of the log.
func (s *sim) state(entries int) scores {
	out := scores{}
	for id := range s.ranking.Members {
		out[string(s.ranking.AppendMember(nil, id))] = s.ranking.InitialScore(id)
	}
	for _, c := range s.log[:entries] {
		out[c.member] = c.score
		if c.gone {
			delete(out, c.member)
		}
	}
	return out
}

// client is one worker's connection.
type client struct {
	*sim
	yield  func(struct{}) bool
	failed []error // attempts of the last Do
}

func (c *client) Do(_ context.Context, op *ranking.Op) (ranking.Reply, error) {
	c.failed = c.failed[:0]
	c.yield(struct{}{})
	if op.Kind == ranking.Get {
		return c.get(op)
	}
	set := change{member: op.Member + "", score: op.Score}
	for {
		err := c.attempt(set)
		if err == nil {
			c.yield(struct{}{})
			return ranking.Reply{}, nil
		}
		c.failed = append(c.failed, err)
		if c.below(3) > 0 {
			return ranking.Reply{}, err
		}
		c.yield(struct{}{}) // and try again
	}
}

// attempt is one of the driver's.
func (c *client) attempt(set change) error {
	switch c.below(12) {
	case 0:
		return errRefused
	case 1:
		return errTimeout
	case 2:
		c.log = append(c.log, set)
		return errTimeout
	case 3:
		c.late = append(c.late, set)
		return errTimeout
	}
	c.log = append(c.log, set)
	return nil
}

func (c *client) get(op *ranking.Op) (ranking.Reply, error) {
	if c.below(10) == 0 {
		return ranking.Reply{}, errTimeout
	}
	lag := 0
	if c.below(3) == 0 {
		lag = c.below(min(len(c.log), 5) + 1)
	}
	v, ok := c.state(len(c.log) - lag)[op.Member]
	c.yield(struct{}{})
	if !ok {
		return ranking.Reply{}, errMissing
	}
	return ranking.Reply{Score: v, Found: true}, nil
}

// telling is a client that tells its attempts.
type telling struct{ *client }

func (t telling) Attempts() ([]error, bool) { return t.failed, true }

// work is one worker: operations through the ledger, each noted in the history.
func (s *sim) work(tells bool, ops int) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		c := &client{sim: s, yield: yield}
		var target load.Target = c
		if tells {
			target = telling{c}
		}
		w := s.ledger.Wrap(target, classify)
		for range ops {
			op := ranking.Op{Kind: ranking.Set, Score: s.values[s.below(len(s.values))]}
			op.SetMember(s.ranking, int64(s.below(int(s.ranking.Members))))
			if s.below(2) == 0 {
				op.Kind = ranking.Get
				s.read(w, &op)
			} else {
				s.write(w, &op, c, tells)
			}
			yield(struct{}{})
		}
	}
}

func (s *sim) read(w load.Target, op *ranking.Op) {
	r := &read{member: op.Member, start: s.tick()}
	reply, err := w.Do(context.Background(), op)
	r.end, r.got = s.tick(), reply.Score
	switch {
	case err == nil:
		s.reads = append(s.reads, r)
	case errors.Is(err, errMissing):
		s.missing++
	}
}

func (s *sim) write(t load.Target, op *ranking.Op, c *client, tells bool) {
	w := &write{member: op.Member, score: op.Score, start: s.tick(), end: 1 << 60}
	s.writes = append(s.writes, w)
	_, err := t.Do(context.Background(), op)
	w.end, w.at, w.acked = s.tick(), s.now, err == nil
	w.unknown = err != nil && !tells
	for _, e := range c.failed {
		w.unknown = w.unknown || tells && errors.Is(e, errTimeout)
	}
}

// weather is what happens beside the workers.
func (s *sim) weather() {
	s.now += time.Duration(s.below(7)) * time.Millisecond
	switch s.below(40) {
	case 0: // a failover, to a replica that lags
		s.log = s.log[:len(s.log)-s.below(min(len(s.log), 8)+1)]
	case 1, 2: // somebody else removes a member, or sets it
		member := string(s.ranking.AppendMember(nil, int64(s.below(int(s.ranking.Members)))))
		s.log = append(s.log, change{member: member, score: s.values[s.below(len(s.values))], gone: s.below(2) == 0})
	case 3, 4, 5:
		s.applyLate()
	}
}

func (s *sim) applyLate() {
	if len(s.late) == 0 {
		return
	}
	i := s.below(len(s.late))
	s.log = append(s.log, s.late[i])
	s.late = append(s.late[:i], s.late[i+1:]...)
}

// run runs all workers to their ends in an order that the seed decides.
func (s *sim) run() {
	var steps []func() (struct{}, bool)
	for range 1 + s.below(6) {
		next, stop := iter.Pull(s.work(s.below(2) == 0, 1+s.below(15)))
		defer stop()
		steps = append(steps, next)
	}
	for len(steps) > 0 {
		s.weather()
		i := s.below(len(steps))
		if _, ok := steps[i](); !ok {
			steps = append(steps[:i], steps[i+1:]...)
		}
	}
	for range s.below(4) {
		s.applyLate()
	}
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{draw: ranking.NewStream(seed, 0)}
	spread := []int64{1, 4, 100, 1 << 22}[s.below(4)]
	s.values = []float64{0, float64(spread - 1), float64(spread / 2), float64(spread / 3)}
	s.ledger, s.history = nil, &history{fresh: seed%2 == 0}
	s.ledger, s.ranking = newLedger(t, 1+int64(s.below(8)), spread, func() time.Duration { return s.now })
	return s
}

// TestLedgerFindsWhatTheWholeHistoryTells compares reports, over thousands of
// runs, with those of a reference that keeps everything.
func TestLedgerFindsWhatTheWholeHistoryTells(t *testing.T) {
	runs := uint64(6000)
	if testing.Short() {
		runs = 500
	}
	var sum audit.Report
	for seed := range runs {
		s := newSim(t, seed)
		s.run()
		store := s.state(len(s.log))
		got, err := s.ledger.Check(t.Context(), store, audit.Options{Connections: 1 + s.below(3), Batch: 1 + s.below(4), Fresh: s.fresh})
		if err != nil {
			t.Fatal(err)
		}
		if g, w := text(t, got), text(t, s.report(store)); g != w {
			t.Fatalf("seed %d: the ledger finds\n%s\nand the history tells\n%s", seed, g, w)
		}
		add(&sum, got)
	}
	t.Logf("in all: %s", text(t, sum))
	for name, n := range map[string]uint64{
		"lost": uint64(sum.Lost), "missing": uint64(sum.Missing), "ghosts": uint64(sum.Ghosts), "changed": uint64(sum.Changed),
		"overlapped": uint64(sum.Overlapped), "indeterminate": sum.Indeterminate, "missing reads": sum.MissingReads, "stale reads": sum.StaleReads,
	} {
		if n < runs/200 {
			t.Errorf("the runs had only %d %s", n, name)
		}
	}
}

func add(sum *audit.Report, r audit.Report) {
	sum.Acknowledged += r.Acknowledged
	sum.Indeterminate += r.Indeterminate
	sum.Checked += r.Checked
	sum.Lost += r.Lost
	sum.Missing += r.Missing
	sum.Ghosts += r.Ghosts
	sum.Changed += r.Changed
	sum.Overlapped += r.Overlapped
	sum.MissingReads += r.MissingReads
	sum.StaleReads += r.StaleReads
}

func text(t *testing.T, r audit.Report) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
