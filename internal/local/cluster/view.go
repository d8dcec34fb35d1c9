package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// view is what one node says of itself and of the others at one moment. Without
// cluster mode only node and replication are set.
type view struct {
	node        *node
	replication string         // INFO replication
	state       string         // cluster_state
	self        row            // the node's own row
	rows        map[string]row // of all nodes it knows, by their cluster ids
	table       []redis.ClusterSlot
}

// row is a line of CLUSTER NODES.
type row struct {
	id        string
	flags     []string
	primary   string // the cluster id of a replica's primary
	epoch     uint64
	connected bool
	slots     []Range
}

// is tells whether the row has a flag: master, slave, fail?, handshake …
func (r row) is(flag string) bool { return slices.Contains(r.flags, flag) }

// look asks all nodes at once and returns the views of those that answer.
func (c *Cluster) look(ctx context.Context, nodes []*node) []*view {
	views := make([]*view, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			// Whoever does not answer has no view, and for whatever reason, is away.
			views[i], _ = c.view(ctx, n)
		})
	}
	wg.Wait()
	return slices.DeleteFunc(views, func(v *view) bool { return v == nil })
}

// view asks one node.
func (c *Cluster) view(ctx context.Context, n *node) (v *view, err error) {
	err = c.ask(ctx, n, func(ctx context.Context, client *redis.Client) error {
		if c.opts.Standalone {
			info, err := client.Info(ctx, "replication").Result()
			v = &view{node: n, replication: info}
			return err
		}
		v, err = clusterView(ctx, client)
		return err
	})
	if err != nil {
		return nil, err
	}
	v.node = n
	return v, nil
}

func clusterView(ctx context.Context, client *redis.Client) (*view, error) {
	p := client.Pipeline()
	replication, state := p.Info(ctx, "replication"), p.ClusterInfo(ctx)
	nodes, table := p.ClusterNodes(ctx), p.ClusterSlots(ctx)
	if _, err := p.Exec(ctx); err != nil {
		return nil, err
	}
	v := &view{
		replication: replication.Val(), table: table.Val(),
		state: field(state.Val(), "cluster_state"), rows: map[string]row{},
	}
	for line := range strings.Lines(nodes.Val()) {
		r, err := parseRow(line)
		if err != nil {
			return nil, err
		}
		v.rows[r.id] = r
		if r.is("myself") {
			v.self = r
		}
	}
	return v, nil
}

// parseRow reads a line of CLUSTER NODES:
// id addr flags primary ping-sent pong-recv epoch link-state slot...
func parseRow(line string) (row, error) {
	f := strings.Fields(line)
	if len(f) < 8 {
		return row{}, fmt.Errorf("CLUSTER NODES says %q", line)
	}
	r := row{id: f[0], flags: strings.Split(f[2], ","), primary: f[3], connected: f[7] == "connected"}
	var err error
	if r.epoch, err = strconv.ParseUint(f[6], 10, 64); err != nil {
		return row{}, fmt.Errorf("CLUSTER NODES says %q: %w", line, err)
	}
	for _, text := range f[8:] {
		if strings.HasPrefix(text, "[") {
			continue // a slot on the move: [93->-id]
		}
		slots, err := parseRange(text)
		if err != nil {
			return row{}, fmt.Errorf("CLUSTER NODES says %q: %w", line, err)
		}
		r.slots = append(r.slots, slots)
	}
	return r, nil
}

// parseRange reads "0-5460" or "7".
func parseRange(text string) (Range, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil {
		return Range{}, err
	}
	to, err := strconv.Atoi(last)
	return Range{from, to}, err
}

// field finds "name:value" in the output of INFO or CLUSTER INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// isPrimary tells the role the node has in its own eyes.
func (v *view) isPrimary() bool { return field(v.replication, "role") == "master" }

// offset is how far a replica's copy is; -1 means that it has none.
func (v *view) offset() int64 {
	if field(v.replication, "master_sync_in_progress") == "1" {
		return -1
	}
	offset, err := strconv.ParseInt(field(v.replication, "slave_repl_offset"), 10, 64)
	if err != nil {
		return -1
	}
	return offset
}

// viewOf finds the view of n, nil if it does not answer.
func viewOf(views []*view, n *node) *view {
	i := slices.IndexFunc(views, func(v *view) bool { return v.node == n })
	if i < 0 {
		return nil
	}
	return views[i]
}
