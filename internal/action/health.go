package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/result"
)

// roles of nodes, as result.NodeSample has them.
const (
	primary = "primary"
	replica = "replica"
)

// healthy wants the group and its members to be available, and each shard's nodes
// to be a primary and replicas that follow it.
func (e Env) healthy(ctx context.Context) (aws.Group, error) {
	g, err := e.AWS.Group(ctx, e.Group)
	if err != nil {
		return g, err
	}
	return g, errors.Join(g.Available(), e.agree(g))
}

// agree wants the nodes to say what the control plane says, where they are asked.
func (e Env) agree(g aws.Group) error {
	if e.Nodes == nil {
		return nil
	}
	said := e.byID()
	var errs []error
	for _, s := range g.Shards {
		primaries := 0
		for _, m := range s.Members {
			n, known := said[m.ID]
			switch {
			case !known || !n.Up:
				errs = append(errs, fmt.Errorf("%s does not answer", m.ID))
			case n.Role == primary:
				primaries++
			case n.Link != "up":
				errs = append(errs, fmt.Errorf("%s does not follow its primary yet", m.ID))
			}
		}
		if primaries != 1 {
			errs = append(errs, fmt.Errorf("node group %s has %d primaries", s.ID, primaries))
		}
	}
	return errors.Join(errs...)
}

func (e Env) byID() map[string]result.NodeSample {
	said := map[string]result.NodeSample{}
	if e.Nodes == nil {
		return said
	}
	for _, n := range e.Nodes() {
		if !said[n.ID].Up { // a node that was replaced is still asked at its old address, too
			said[n.ID] = n
		}
	}
	return said
}

// shard finds the node group of an id or, if that is "", the one with the ranking.
func (e Env) shard(g aws.Group, id string) (aws.Shard, error) {
	for _, s := range g.Shards {
		if s.ID == id || id == "" && (!g.ClusterEnabled || holds(s.Slots, e.Slot)) {
			return s, nil
		}
	}
	if id == "" {
		return aws.Shard{}, fmt.Errorf("no node group of %s has slot %d, where the ranking is", g.ID, e.Slot)
	}
	return aws.Shard{}, fmt.Errorf("replication group %s has no node group %s", g.ID, id)
}

// holds tells whether a slot is among "0-5460,10923-16383".
func holds(slots string, slot int) bool {
	for part := range strings.SplitSeq(slots, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err == nil && err2 == nil && from <= slot && slot <= to {
			return true
		}
	}
	return false
}

// withRole lists the members of a shard that say they have a role, by id; where
// nodes are not asked, those of which ElastiCache says so.
func (e Env) withRole(s aws.Shard, role string) []string {
	said := e.byID()
	var ids []string
	for _, m := range s.Members {
		if n := said[m.ID]; n.Up && n.Role == role || e.Nodes == nil && m.Role == role {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// node chooses the node that a step means: the one it names, or the first with
// its role in its node group.
func (b *base) node(ctx context.Context, g aws.Group) (id string, err error) {
	if len(b.step.Nodes) > 0 {
		return b.step.Nodes[0], known(g, b.step.Nodes[:1])
	}
	s, err := b.shard(g, b.step.NodeGroup)
	if err != nil {
		return "", err
	}
	err = soon(ctx, func() error {
		ids := b.withRole(s, b.step.Role)
		if len(ids) == 0 {
			return fmt.Errorf("no node of node group %s says that it is a %s", s.ID, b.step.Role)
		}
		id = ids[0]
		return nil
	})
	return id, err
}

// known wants nodes to be members.
func known(g aws.Group, nodes []string) error {
	var errs []error
	for _, id := range nodes {
		if !slices.ContainsFunc(g.Members(), func(m aws.Member) bool { return m.ID == id }) {
			errs = append(errs, fmt.Errorf("replication group %s has no node %s", g.ID, id))
		}
	}
	return errors.Join(errs...)
}
