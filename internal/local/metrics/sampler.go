package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Node is a running node and where it answers.
type Node struct{ CacheClusterID, Addr string }

// Options say whom to ask, and how.
type Options struct {
	// Nodes is asked before each sample, by one goroutine.
	Nodes func() []Node
	// Client makes a client of a user who may run INFO: its address, credentials,
	// TLS and dialler are used for the one connection that is kept with a node;
	// it is closed here. It may be called concurrently.
	Client func(addr string) *redis.Client
	// Every is the time between samples, 1 s by default. More than one in a
	// second add up to one value.
	Every time.Duration
}

// maxWait bounds one node's answer. It is far above what a healthy node needs
// (a millisecond), and with half of Every it leaves time until the next sample.
const maxWait = 500 * time.Millisecond

func (o Options) wait() time.Duration { return min(maxWait, o.Every/2) }

// Start samples the nodes until Stop, or until ctx ends.
func Start(ctx context.Context, o Options) *Store {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Store{
		cancel: cancel, done: make(chan struct{}),
		reader: reader{commandColumns()}, table: table(), series: map[string]*series{},
	}
	sm := &sampler{opt: o, store: s, sessions: map[Node]*session{}}
	go func() {
		defer close(s.done)
		sm.run(ctx)
	}()
	return s
}

// Stop ends the sampling and waits for it. What is known can still be asked for.
func (s *Store) Stop() {
	s.cancel()
	<-s.done
}

// sampler asks the nodes. Only its own goroutine touches it.
type sampler struct {
	opt      Options
	store    *Store
	sessions map[Node]*session
}

func (sm *sampler) run(ctx context.Context) {
	defer sm.keep(nil)
	var tick time.Time
	for {
		tick = sm.next(tick)
		if !waitUntil(ctx, tick) {
			return
		}
		sm.round(ctx, tick)
	}
}

// next is the next time that Every divides. A timer may fire a little before its
// time, which is then still to come: it is not taken twice. After a long pause,
// of this process or of the machine, no time is made up for.
func (sm *sampler) next(last time.Time) time.Time {
	tick := time.Now().Truncate(sm.opt.Every).Add(sm.opt.Every)
	if tick.Equal(last) {
		tick = tick.Add(sm.opt.Every)
	}
	return tick
}

func waitUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// round asks all nodes at once. What they say at tick is of the time before it:
// at 12:01:00 of the second 12:00:59.
func (sm *sampler) round(ctx context.Context, tick time.Time) {
	ctx, cancel := context.WithTimeout(ctx, sm.opt.wait())
	defer cancel()
	nodes := sm.opt.Nodes()
	sm.keep(nodes)
	second := tick.Add(-sm.opt.Every).Unix()
	var wg sync.WaitGroup
	for node, session := range sm.sessions {
		wg.Go(func() {
			if text, err := session.ask(ctx); err == nil {
				l := sm.store.reader.read(text, time.Now())
				sm.store.take(node.CacheClusterID, second, &l)
			}
		})
	}
	wg.Wait()
	sm.store.closeMinutes(tick.Unix())
}

// keep ends the sessions with all nodes but these, and has one with each of them.
func (sm *sampler) keep(nodes []Node) {
	wanted := map[Node]bool{}
	for _, n := range nodes {
		wanted[n] = true
		if sm.sessions[n] == nil {
			sm.sessions[n] = &session{addr: n.Addr, connect: sm.opt.Client}
		}
	}
	for n, session := range sm.sessions {
		if !wanted[n] {
			session.hangUp()
			delete(sm.sessions, n)
		}
	}
}
