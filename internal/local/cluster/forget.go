package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// forgetTakes bounds the wait for all to forget a node. It must be far below the
// minute for which Redis keeps a forgotten one out.
const forgetTakes = 10 * time.Second

// forget makes all members that answer forget gone, again and again until none
// has it in its table: whoever was told keeps it out for a minute, but one that
// was not passes it on. Without cluster mode nobody knows anybody.
func (c *Cluster) forget(ctx context.Context, gone ...*node) error {
	if c.opts.Standalone {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, forgetTakes)
	defer cancel()
	// The last look is not cut short: then nobody would answer, and so nobody know.
	return poll(limited, func(context.Context) error { return c.forgetOnce(ctx, gone) })
}

// forgetOnce tells those who know one of gone to forget it, and says that there
// were any.
func (c *Cluster) forgetOnce(ctx context.Context, gone []*node) error {
	var complaint error
	for _, v := range c.look(ctx, c.members()) {
		for _, n := range gone {
			id := c.idOf(n)
			if _, known := v.rows[id]; !known || id == "" {
				continue
			}
			complaint = fmt.Errorf("%s still knows %s", v.node.id, n.id)
			if err := c.tell(ctx, v.node, "cluster", "forget", id); err != nil && !isUnknown(err) {
				complaint = errors.Join(complaint, err)
			}
		}
	}
	return complaint
}

// isUnknown tells whether there was nothing to forget any more.
func isUnknown(err error) bool { return strings.Contains(err.Error(), "Unknown node") }
