package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// rollBackTakes bounds giving back what a batch has left open. It is not part of
// the batch's own time: a MIGRATE that has timed out has used that up.
const rollBackTakes = time.Minute

// rollBackAll rolls back the slots of a batch that were not handed over.
func (m *migration) rollBackAll(ctx context.Context, open map[int]bool) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTakes)
	defer cancel()
	for slot := range open {
		err = errors.Join(err, m.rollBack(ctx, slot))
	}
	return err
}

// rollBack gives a slot that was not handed over back to the source. If the target
// is dead, the keys that have left already are lost with it, and the source serves
// the slot again. If they are there, or anything else is in the way, the slot is
// left open, so that no key is lost: both ends go on serving it together, and the
// next Move of it to the same shard goes on from there.
//
// MIGRATE cannot bring them back. The source answers ASK to whoever brings it a key
// that it has not (measured with 7.0.15); and once it is told that the slot is its
// own again, clients would find them missing, or write them anew, before they are.
func (m *migration) rollBack(ctx context.Context, slot int) error {
	if err := m.cluster.stoppedFirst(nil); err != nil {
		return err
	}
	dead := m.cluster.exited(m.target.node)
	if dead == nil {
		if err := m.dropCopies(ctx, slot); err != nil {
			return fmt.Errorf("roll back slot %d: %w", slot, err)
		}
	}
	// The source first: from then on it sends nobody to the target.
	if err := setSlots(ctx, m.source.client, []int{slot}, "stable"); err != nil || dead != nil {
		return errors.Join(dead, err)
	}
	return setSlots(ctx, m.target.client, []int{slot}, "stable")
}

// dropCopies removes from the target what the source still has: a failed MIGRATE
// may have left a copy there, and clients have gone on writing to the source's. It
// is an error if the target has others too.
func (m *migration) dropCopies(ctx context.Context, slot int) error {
	keys, err := m.arrived(ctx, slot)
	if err != nil || len(keys) == 0 {
		return err
	}
	copies, err := m.atSource(ctx, keys)
	if err != nil {
		return err
	}
	if err := m.discard(ctx, copies); err != nil {
		return err
	}
	if left := len(keys) - len(copies); left > 0 {
		return fmt.Errorf("%d of its keys are at %s already: it stays open", left, m.target.node.id)
	}
	return nil
}

// arrived lists the keys of a slot that the target has.
func (m *migration) arrived(ctx context.Context, slot int) ([]string, error) {
	n, err := m.target.client.ClusterCountKeysInSlot(ctx, slot).Result()
	if err != nil {
		return nil, fmt.Errorf("count the keys at %s: %w", m.target.node.id, err)
	}
	keys, err := m.target.client.ClusterGetKeysInSlot(ctx, slot, int(n)).Result()
	if err != nil {
		return nil, fmt.Errorf("list the keys at %s: %w", m.target.node.id, err)
	}
	return keys, nil
}

// atSource picks those of keys that the source has. While a slot is migrating, it
// answers ASK for others.
func (m *migration) atSource(ctx context.Context, keys []string) ([]string, error) {
	// The errors are the single commands'.
	replies, _ := m.source.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Exists(ctx, key)
		}
		return nil
	})
	var there []string
	for i, reply := range replies {
		n, err := reply.(*redis.IntCmd).Result()
		if err != nil && !strings.HasPrefix(err.Error(), "ASK ") {
			return nil, fmt.Errorf("look for its keys at %s: %w", m.source.node.id, err)
		}
		if n > 0 {
			there = append(there, keys[i])
		}
	}
	return there, nil
}

// discard removes keys from the target, which takes no command on a slot that it
// imports without ASKING.
func (m *migration) discard(ctx context.Context, keys []string) error {
	_, err := m.target.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Do(ctx, "asking")
			p.Unlink(ctx, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove copies from %s: %w", m.target.node.id, err)
	}
	return nil
}
