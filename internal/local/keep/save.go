package keep

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
)

// syncWithin is what replicas get to catch up with a primary at rest.
const syncWithin = 10 * time.Second

// Source is a group to save.
type Source struct {
	Group    state.Group
	Nodes    []state.Node // the group's
	Password string       // of the default user; "" = none
	TLS      *tls.Config  // nil = none
}

// Save makes the groups what is kept in dir. If it fails, what was kept before
// is as it was. It is no snapshot of a moment: nothing should write meanwhile.
// still is called when all is read, before it replaces what was kept; its error
// says that the sources are no longer what they were.
func Save(ctx context.Context, dir string, sources []Source, log io.Writer, still func() error) (k Kept, err error) {
	k = Kept{Version: version, Saved: time.Now().UTC(), dir: dir}
	from := make([][]place, len(sources))
	for i, s := range sources {
		if from[i], err = s.places(ctx); err != nil {
			return k, fmt.Errorf("keep %s: %w", s.Group.ID, err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k, fmt.Errorf("keep: %w", err)
	}
	if err := k.replace(ctx, sources, from, log, still); err != nil {
		k.discard()
		return k, err
	}
	k.sweep()
	return k, nil
}

// replace saves all groups in the place of what was kept.
func (k *Kept) replace(ctx context.Context, sources []Source, from [][]place, log io.Writer, still func() error) error {
	for i, s := range sources {
		if err := k.save(ctx, s, from[i], log); err != nil {
			return fmt.Errorf("keep %s: %w", s.Group.ID, err)
		}
	}
	if err := still(); err != nil {
		return err
	}
	if err := k.publish(); err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	return nil
}

// save writes the keys of one group and enters it.
func (k *Kept) save(ctx context.Context, s Source, from []place, log io.Writer) error {
	f, err := os.CreateTemp(k.dir, s.Group.ID+"-"+keysFile) // mode 0600
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	g := Group{Group: s.Group, File: info.Name()}
	g.CAFile, g.Status, g.Busy = "", "", "" // go with the servers
	k.Groups = append(k.Groups, g)
	w, err := newWriter(f)
	if err != nil {
		return err
	}
	for _, p := range from {
		if err := s.saveShard(ctx, p, w); err != nil {
			return fmt.Errorf("shard %s: %w", p.node.Shard, err)
		}
		fmt.Fprintf(log, "kept %s, shard %s: %d keys of the group so far\n", g.ID, p.node.Shard, w.n)
	}
	k.Groups[len(k.Groups)-1].Keys = w.n
	return errors.Join(w.end(), f.Sync())
}

// place is the node that a shard is read from.
type place struct {
	node     state.Node
	readOnly bool // a replica of a cluster, which has to be told that this is meant
}

// places finds the node to read each shard from.
func (s Source) places(ctx context.Context) ([]place, error) {
	health := cluster.InspectTLS(ctx, state.Addrs(s.Nodes), s.Password, s.TLS)
	shards, order := map[string][]int{}, []string{}
	for i, n := range s.Nodes {
		if shards[n.Shard] == nil {
			order = append(order, n.Shard)
		}
		shards[n.Shard] = append(shards[n.Shard], i)
	}
	var all []place
	for _, id := range order {
		p, err := s.place(ctx, shards[id], health)
		if err != nil {
			return nil, fmt.Errorf("shard %s: %w", id, err)
		}
		all = append(all, p)
	}
	if len(all) != s.Group.Shards {
		return nil, fmt.Errorf("%d of %d shards are known", len(all), s.Group.Shards)
	}
	return all, nil
}

// place chooses among the nodes (by index) of one shard. A DUMP of ten million
// members holds a node up for 10 s, in which the others of a cluster take a
// primary for dead. So a replica is read where one has everything; where there
// is none nobody can take over.
func (s Source) place(ctx context.Context, nodes []int, health []cluster.Health) (place, error) {
	primary, replica, linked := -1, -1, 0
	for _, i := range nodes {
		switch h := health[i]; {
		case h.Up && h.Role == "primary" && primary >= 0:
			return place{}, errors.New("it has two primaries")
		case h.Up && h.Role == "primary":
			primary = i
		case h.Up && h.Link == "up":
			replica, linked = i, linked+1
		}
	}
	if primary < 0 {
		return place{}, errors.New("its primary does not answer")
	}
	p := place{node: s.Nodes[primary]}
	synced, err := s.examine(ctx, p, linked)
	if err == nil && s.Group.ClusterEnabled && linked > 0 && synced {
		p = place{node: s.Nodes[replica], readOnly: true}
	}
	return p, err
}

// moving is a slot on its way, in the lines of CLUSTER NODES.
var moving = regexp.MustCompile(`\[\d+-[<>]-`)

// examine asks a primary whether no slots move, and whether its replicas have
// everything.
func (s Source) examine(ctx context.Context, p place, replicas int) (synced bool, err error) {
	client := s.client(p, 0)
	defer client.Close()
	conn := client.Conn()
	defer conn.Close()
	if s.Group.ClusterEnabled {
		nodes, err := conn.ClusterNodes(ctx).Result()
		if err != nil {
			return false, err
		}
		if moving.MatchString(nodes) {
			return false, errors.New("its slots are being moved")
		}
	}
	// WAIT means all that was written when this connection last sent a command.
	if err := conn.Ping(ctx).Err(); err != nil || replicas == 0 {
		return false, err
	}
	n, err := conn.Wait(ctx, replicas, syncWithin).Result()
	return int(n) >= replicas, err
}

// client makes a client that waits for an answer as long as it takes.
func (s Source) client(p place, db int) *redis.Client {
	o := &redis.Options{
		Addr: p.node.Addr, Password: s.Password, TLSConfig: s.TLS, DB: db, Protocol: 2,
		ReadTimeout: -1, WriteTimeout: -1, MaxRetries: -1, PoolSize: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if p.readOnly {
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error { return conn.ReadOnly(ctx).Err() }
	}
	return redis.NewClient(o)
}

// database is a line of INFO keyspace: db0:keys=1,expires=0,avg_ttl=0
var database = regexp.MustCompile(`(?m)^db(\d+):`)

func (s Source) saveShard(ctx context.Context, p place, w *writer) error {
	client := s.client(p, 0)
	defer client.Close()
	info, err := client.Info(ctx, "keyspace").Result()
	if err != nil {
		return err
	}
	for _, m := range database.FindAllStringSubmatch(info, -1) {
		db, err := strconv.Atoi(m[1])
		if err != nil {
			return err
		}
		if err := s.saveDB(ctx, p, db, w); err != nil {
			return err
		}
	}
	return nil
}

func (s Source) saveDB(ctx context.Context, p place, db int, w *writer) error {
	client := s.client(p, db)
	defer client.Close()
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "", batchKeys).Result()
		if err != nil {
			return err
		}
		batches, err := split(ctx, client, keys)
		if err != nil {
			return err
		}
		for _, batch := range batches {
			if err := dump(ctx, client, uint64(db), batch, w); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return ctx.Err()
		}
	}
}

// split makes batches of keys by their use of memory, which is more than what
// DUMP makes of them.
func split(ctx context.Context, client *redis.Client, keys []string) (batches [][]string, err error) {
	pipe := client.Pipeline()
	sizes := make([]*redis.IntCmd, len(keys))
	for i, key := range keys {
		sizes[i] = pipe.MemoryUsage(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var sum int64
	for i, key := range keys {
		size, err := sizes[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) { // nil: gone since
			return nil, err
		}
		if sum += size; i == 0 || sum > batchBytes {
			batches, sum = append(batches, nil), size
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], key)
	}
	return batches, nil
}

// dump writes the keys that are still there.
func dump(ctx context.Context, client *redis.Client, db uint64, keys []string, w *writer) error {
	pipe := client.Pipeline()
	ttls, values := make([]*redis.DurationCmd, len(keys)), make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		ttls[i], values[i] = pipe.PTTL(ctx, key), pipe.Dump(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	for i, key := range keys {
		value, err := values[i].Bytes()
		if errors.Is(err, redis.Nil) {
			continue // gone since
		}
		left, ttlErr := ttls[i].Result()
		if err := errors.Join(err, ttlErr); err != nil {
			return err
		}
		if err := w.put(record{db: db, ttl: milliseconds(left), key: []byte(key), value: value}); err != nil {
			return err
		}
	}
	return nil
}

// milliseconds is for RESTORE what left is from PTTL: there 0 means no limit,
// here a negative number does.
func milliseconds(left time.Duration) uint64 {
	if left < 0 {
		return 0
	}
	return uint64(max(1, left.Milliseconds()))
}
