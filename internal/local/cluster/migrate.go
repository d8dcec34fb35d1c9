package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// migrateTakes bounds one MIGRATE; a ranking may have hundreds of megabytes.
	migrateTakes = 10 * time.Minute
	// migrateKeys is how many keys go in one MIGRATE, during which the source
	// answers nobody. redis-cli takes as many.
	migrateKeys = 10
	// handOverSlots is how many slots with keys are handed over together. Fewer at a
	// time make a read from a replica of the source that misses a key no rarer, as
	// the move takes longer: measured with 16384 slots, 23,000 keys and half of them
	// moved, 0.5 in 1000 reads in 2.5 s with 16, as many in 4 s with 4, and 0.4 in
	// 9 s with 1.
	handOverSlots = 16
	// migrateTries bounds how often a MIGRATE that has failed is repeated. It
	// leaves the key with the source, so that nothing is lost by that.
	migrateTries = 5
)

// migration is what moves slots between two primaries.
type migration struct {
	cluster        *Cluster
	source, target side
	sourceSlots    []Range // before anything is moved
	others         []*redis.Client
}

// side is one end of a migration.
type side struct {
	node   *node
	id     string // cluster id
	client *redis.Client
}

// newMigration connects to the primaries of two shards, and to all others, who
// are to hear of the new owners at once.
func (c *Cluster) newMigration(ctx context.Context, from, to string) (*migration, error) {
	source, err := shardNumber(from)
	if err != nil {
		return nil, err
	}
	target, err := shardNumber(to)
	if err != nil {
		return nil, err
	}
	if c.opts.Standalone || source == target {
		return nil, errors.New("it takes two shards")
	}
	views := c.look(ctx, c.members())
	s, t := c.primaryView(views, source), c.primaryView(views, target)
	if s == nil || t == nil {
		return nil, errors.New("one of the two has no primary that answers")
	}
	m := &migration{cluster: c, source: c.side(s), target: c.side(t), sourceSlots: s.self.slots}
	for _, v := range views {
		if v != s && v != t && v.isPrimary() {
			m.others = append(m.others, c.side(v).client)
		}
	}
	return m, nil
}

func (c *Cluster) side(v *view) side {
	return side{node: v.node, id: v.self.id, client: redis.NewClient(c.admin.options(v.node.addr(), migrateTakes))}
}

func (m *migration) close() {
	for _, client := range append(m.others, m.source.client, m.target.client) {
		_ = client.Close()
	}
}

// batch moves some slots. It does not end with ctx: half-way a slot is in nobody's
// hands. If it fails, what can be is undone.
func (m *migration) batch(ctx context.Context, batch []int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), migrateTakes)
	defer cancel()
	open := map[int]bool{}
	for _, slot := range batch {
		open[slot] = true
	}
	err := m.moveAll(ctx, batch, open)
	return errors.Join(err, m.rollBackAll(ctx, open))
}

// moveAll moves the slots of a batch and takes each that has arrived out of open.
// Those with keys are handed over few at a time, because the source's replicas do
// not see what has left before they hear of the new owner.
func (m *migration) moveAll(ctx context.Context, batch []int, open map[int]bool) error {
	if err := m.open(ctx, batch); err != nil {
		return err
	}
	keys, err := m.list(ctx, batch)
	if err != nil {
		return err
	}
	isEmpty := func(slot int) bool { return len(keys[slot]) == 0 }
	empty := slices.DeleteFunc(slices.Clone(batch), func(slot int) bool { return !isEmpty(slot) })
	if err := m.handOver(ctx, empty, open); err != nil {
		return err
	}
	full := slices.DeleteFunc(slices.Clone(batch), isEmpty)
	for group := range slices.Chunk(full, handOverSlots) {
		if err := m.sendGroup(ctx, group, keys); err != nil {
			return err
		}
		if err := m.handOver(ctx, group, open); err != nil {
			return err
		}
	}
	return nil
}

// open begins the migration of slots: from now on the source sends clients that
// ask for a key it has not to the target. The target must expect them first.
func (m *migration) open(ctx context.Context, batch []int) error {
	if err := setSlots(ctx, m.target.client, batch, "importing", m.source.id); err != nil {
		return err
	}
	return setSlots(ctx, m.source.client, batch, "migrating", m.target.id)
}

// setSlots is CLUSTER SETSLOT for several slots.
func setSlots(ctx context.Context, client *redis.Client, batch []int, args ...any) error {
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, slot := range batch {
			p.Do(ctx, append([]any{"cluster", "setslot", slot}, args...)...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cluster setslot %d to %d %s: %w", batch[0], batch[len(batch)-1], args[0], err)
	}
	return nil
}

// list lists the first keys of each slot. No others come: who asks for a new one is
// sent to the target.
func (m *migration) list(ctx context.Context, batch []int) (map[int][]string, error) {
	lists, err := m.source.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, slot := range batch {
			p.ClusterGetKeysInSlot(ctx, slot, migrateKeys)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", m.source.node.id, err)
	}
	keys := map[int][]string{}
	for i, slot := range batch {
		keys[slot] = lists[i].(*redis.StringSliceCmd).Val()
	}
	return keys, nil
}

// handOver gives slots without keys to the target: to itself first, so that there
// is always somebody who serves them, then in the source's table, then in all
// other primaries'. Those would hear of it anyway, and so do the replicas.
func (m *migration) handOver(ctx context.Context, batch []int, open map[int]bool) error {
	if len(batch) == 0 {
		return nil
	}
	if err := setSlots(ctx, m.target.client, batch, "node", m.target.id); err != nil {
		return err
	}
	for _, slot := range batch {
		delete(open, slot)
	}
	if err := setSlots(ctx, m.source.client, batch, "node", m.target.id); err != nil {
		return err
	}
	for _, other := range m.others {
		_ = setSlots(ctx, other, batch, "node", m.target.id)
	}
	return nil
}

// sendGroup moves all keys of some slots, of which the first are listed. They go in
// one pipeline; what has failed, or was not all, goes slot by slot.
func (m *migration) sendGroup(ctx context.Context, group []int, keys map[int][]string) error {
	// The errors are the single commands'.
	sent, _ := m.source.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, slot := range group {
			p.Do(ctx, m.migrate(keys[slot])...)
		}
		return nil
	})
	for i, slot := range group {
		if sent[i].Err() == nil && len(keys[slot]) < migrateKeys {
			continue
		}
		if err := m.send(ctx, slot); err != nil {
			return err
		}
	}
	return nil
}

// send moves all keys of a slot.
func (m *migration) send(ctx context.Context, slot int) error {
	tries := 0
	for {
		keys, err := m.source.client.ClusterGetKeysInSlot(ctx, slot, migrateKeys).Result()
		if err != nil {
			return fmt.Errorf("list the keys of slot %d at %s: %w", slot, m.source.node.id, err)
		}
		if len(keys) == 0 {
			return nil
		}
		err = m.source.client.Do(ctx, m.migrate(keys)...).Err()
		if err == nil {
			tries = 0
			continue
		}
		if tries++; tries >= migrateTries || !strings.Contains(err.Error(), "IOERR") {
			return fmt.Errorf("migrate slot %d from %s to %s: %w", slot, m.source.node.id, m.target.node.id, err)
		}
	}
}

// migrate is the command that moves keys to the target. That one of them has
// expired meanwhile (NOKEY) is a reply and no error. REPLACE is for the copy that a
// failed attempt may have left: as long as the source has a key, it is the one that
// counts.
func (m *migration) migrate(keys []string) []any {
	admin, to := m.cluster.admin, m.target.node
	command := []any{
		"migrate", to.host, to.port, "", 0, migrateTakes.Milliseconds(),
		"replace", "auth2", admin.user, admin.password, "keys",
	}
	for _, key := range keys {
		command = append(command, key)
	}
	return command
}
