package cluster

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// drainLook is how often a node that leaves is asked what it has served.
const drainLook = 100 * time.Millisecond

// scripts run on replicas too if they only read, and are in no category that
// tells so. A primary sends its replicas their effects, never themselves.
var scripts = []string{"eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro"}

// drain waits until none of nodes has served anything for idle, or limit has
// passed, or ctx has ended. It also sees to it that nobody is reminded of them.
func (c *Cluster) drain(ctx context.Context, nodes []*node, idle, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() { c.drainOne(ctx, n, idle) })
	}
	wg.Wait()
}

// drainOne is drain of one node. One that does not answer serves nobody.
func (c *Cluster) drainOne(ctx context.Context, n *node, idle time.Duration) {
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	served, since := int64(-1), time.Now()
	for {
		now, err := c.served(ctx, n)
		if err != nil {
			return
		}
		if now != served {
			served, since = now, time.Now()
		}
		if time.Since(since) >= idle {
			return
		}
		// That somebody still knows it is no reason to stop: it is told again.
		_ = c.forgetOnce(ctx, []*node{n})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// served counts what clients have asked n so far.
func (c *Cluster) served(ctx context.Context, n *node) (total int64, err error) {
	err = c.ask(ctx, n, func(ctx context.Context, client *redis.Client) error {
		p := client.Pipeline()
		reads, stats := p.Do(ctx, "acl", "cat", "read"), p.Info(ctx, "commandstats")
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
		names, err := reads.StringSlice()
		if err != nil {
			return err
		}
		total = countServed(stats.Val(), names)
		return nil
	})
	return total, err
}

// countServed counts, in INFO commandstats, the calls of commands that read, and
// what was refused of any (redirected, that is, or a write on a replica). The
// calls of commands that write are left out: on a replica they are its primary's.
func countServed(stats string, reads []string) (total int64) {
	isRead := map[string]bool{}
	for _, name := range append(reads, scripts...) {
		isRead[name] = true
	}
	for line := range strings.Lines(stats) {
		name, fields, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":")
		if !found {
			continue
		}
		if isRead[name] {
			total += number(fields, "calls")
		}
		total += number(fields, "rejected_calls")
	}
	return total
}

// number finds name=value in a line of INFO commandstats; 0 if it is not there.
func number(fields, name string) int64 {
	for field := range strings.SplitSeq(fields, ",") {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			n, _ := strconv.ParseInt(value, 10, 64) // Redis has written it
			return n
		}
	}
	return 0
}
