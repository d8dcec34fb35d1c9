package target

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/result"
)

// opContext is the context of one worker's operations. It reaches the hooks of
// the node that serves a command unchanged, so that they know a ranking
// command of the load from the driver's own commands, whose counters to use,
// and where to note what became of it; one for each worker, reused, so that it
// costs no allocation.
type opContext struct {
	context.Context
	attempts
	stripe int
}

// nodes keeps what the driver did on each node.
type nodes struct {
	mu     sync.Mutex
	byAddr map[string]*nodeStats
}

// stripes keeps workers on different processors off each other's cache lines.
const stripes = 16

type nodeStats struct {
	addr     string
	connects atomic.Uint64
	stripe   [stripes]struct {
		attempts, errors atomic.Uint64
		_                [48]byte // to a cache line of 64 bytes
	}
}

// watch counts what the driver does on a node's client from now on.
func (n *nodes) watch(c *redis.Client) {
	c.AddHook(nodeHook{n.get(c.Options().Addr)})
}

func (n *nodes) get(addr string) *nodeStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byAddr == nil {
		n.byAddr = map[string]*nodeStats{}
	}
	if n.byAddr[addr] == nil {
		n.byAddr[addr] = &nodeStats{addr: addr}
	}
	return n.byAddr[addr]
}

// samples returns the counters by address.
func (n *nodes) samples() map[string]result.DriverSample {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]result.DriverSample{}
	for addr, st := range n.byAddr {
		d := result.DriverSample{Connects: st.connects.Load()}
		for i := range st.stripe {
			d.Attempts += st.stripe[i].attempts.Load()
			d.Errors += st.stripe[i].errors.Load()
		}
		out[addr] = d
	}
	return out
}

// nodeHook counts the attempts on one node, every retry and redirect among them.
type nodeHook struct{ stats *nodeStats }

var _ redis.Hook = nodeHook{}

func (h nodeHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			h.stats.connects.Add(1)
		}
		return conn, err
	}
}

func (h nodeHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if o, ok := ctx.(*opContext); ok && ofRanking(cmd) {
			errs := failed(err)
			h.count(o, 1, errs)
			if errs > 0 {
				o.failed = append(o.failed, err)
			}
		}
		return err
	}
}

func (h nodeHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if o, ok := ctx.(*opContext); ok {
			n, errs := tallyPipeline(cmds, err)
			h.count(o, n, errs)
			if err != nil && n > 0 { // a handshake's has none of the load's commands
				o.redirected(cmds, err)
			}
		}
		return err
	}
}

// tallyPipeline counts the load's commands of a pipeline, and those that
// failed; err is the pipeline's: nil where no command failed. The usual case, a
// pipeline of the load's without a failure, costs no look at each command.
func tallyPipeline(cmds []redis.Cmder, err error) (attempts, errs int) {
	if err == nil && len(cmds) > 0 && ofRanking(cmds[0]) {
		return len(cmds), 0
	}
	for _, c := range cmds {
		if ofRanking(c) {
			attempts, errs = attempts+1, errs+failed(c.Err())
		}
	}
	return attempts, errs
}

// ofRanking says whether a command is one of the load's: what the driver says
// on a new connection (HELLO, READONLY, CLIENT SETINFO, which old servers
// refuse) and before a redirected command (ASKING) comes with the worker's
// context, too.
func ofRanking(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "zadd", "zscore", "zcount", "zrevrange":
		return true
	}
	return false
}

func (h nodeHook) count(o *opContext, attempts, errs int) {
	s := &h.stats.stripe[o.stripe%stripes]
	s.attempts.Add(uint64(attempts))
	if errs > 0 {
		s.errors.Add(uint64(errs))
	}
}

// failed is 1 for an error; an answer without a value is none on this level.
func failed(err error) int {
	if err == nil || err == redis.Nil { //nolint:errorlint // the driver returns it bare, and this is the hot path
		return 0
	}
	return 1
}
