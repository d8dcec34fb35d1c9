package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/scenario"
)

// quota is how many node groups an account may fail over in 24 hours
// (ElastiCache's API reference, TestFailover).
const quota = 15

// Target is where a drill goes, for the user to see before anything is changed.
type Target struct {
	Place     aws.Place
	Group     aws.Group
	Failovers int // calls of TestFailover in the account in the last 24 hours
}

// Preflight looks at where the steps go, and refuses what is not allowed, not
// healthy, or not possible. All refusals are told at once. The Target is good for
// showing even then, as far as it came.
func Preflight(ctx context.Context, e Env, allowed config.AWS, steps []scenario.Step) (t Target, err error) {
	if t, err = Look(ctx, e); err != nil {
		return t, err
	}
	errs := []error{permitted(ctx, e, allowed, t.Group), fit(t.Group), e.agree(t.Group)}
	failovers := 0
	for i, s := range steps {
		if s.Kind == scenario.TestFailover {
			failovers++
		}
		if err := e.possible(t.Group, s, i == 0); err != nil {
			errs = append(errs, fmt.Errorf("step %d, %s: %w", i+1, s.Kind, err))
		}
	}
	if failovers > 0 && t.Failovers+failovers > quota && !t.Place.Loopback {
		errs = append(errs, fmt.Errorf("%d failovers were tested in this account within 24 hours, and ElastiCache allows %d", t.Failovers, quota))
	}
	if err := errors.Join(errs...); err != nil {
		return t, fail.WithHint(fmt.Errorf("refused, nothing was changed: %w", err), "see `rankbench describe`, and mend what is not healthy")
	}
	return t, nil
}

// Look finds out where calls go, what the group is, and how much of the quota is used.
func Look(ctx context.Context, e Env) (t Target, err error) {
	if t.Place, err = e.AWS.Place(ctx); err != nil {
		return t, err
	}
	if t.Group, err = e.AWS.Group(ctx, e.Group); err != nil {
		return t, err
	}
	t.Failovers, err = e.AWS.FailoversWithin(ctx, 24*time.Hour)
	return t, err
}

// permitted looks at the allow list and the tag.
func permitted(ctx context.Context, e Env, allowed config.AWS, g aws.Group) error {
	var errs []error
	if !allowed.Allows(g.ID) {
		errs = append(errs, fmt.Errorf("group %s is not on the config's list aws.allow (%s)", g.ID, strings.Join(allowed.Allow, ", ")))
	}
	key, value, _ := strings.Cut(allowed.AllowTag, "=")
	if key == "" {
		return errors.Join(errs...)
	}
	tags, err := e.AWS.Tags(ctx, g.ARN)
	switch has, there := tags[key]; {
	case err != nil:
		errs = append(errs, err)
	case !there || has != value:
		errs = append(errs, fmt.Errorf("group %s has not the tag %s that the config's aws.allow_tag wants", g.ID, allowed.AllowTag))
	}
	return errors.Join(errs...)
}

// fit wants a group in which nothing goes on.
func fit(g aws.Group) error {
	errs := []error{g.Available()}
	if len(g.Pending) > 0 {
		errs = append(errs, fmt.Errorf("changes of %s are pending: %s", g.ID, strings.Join(g.Pending, ", ")))
	}
	if g.GlobalDatastore != "" {
		errs = append(errs, fmt.Errorf("%s is a member of the global datastore %s", g.ID, g.GlobalDatastore))
	}
	return errors.Join(errs...)
}

// possible tells whether a step can be done. What steps before it change is not
// known: only of the first one are counts held against the present ones.
func (e Env) possible(g aws.Group, s scenario.Step, first bool) error {
	switch s.Kind {
	case scenario.TestFailover:
		return e.canFailOver(g, s)
	case scenario.IncreaseReplicas, scenario.DecreaseReplicas:
		if s.NodeGroup != "" {
			_, err := e.shard(g, s.NodeGroup)
			return err
		}
	case scenario.AddShards, scenario.RemoveShards:
		switch n := len(g.Shards); {
		case !g.ClusterEnabled:
			return errors.New("cluster mode is disabled: there is one shard")
		case first && s.Kind == scenario.AddShards && s.Count <= n, first && s.Kind == scenario.RemoveShards && s.Count >= n:
			return fmt.Errorf("there are %d node groups now, and count says how many there shall be", n)
		}
	case scenario.Kill, scenario.Hang, scenario.Resume:
		if e.Pid == nil {
			return errors.New("only the nodes of a local ElastiCache have processes here; use test_failover")
		}
	case scenario.Reboot:
		if g.ClusterEnabled {
			return errors.New("ElastiCache reboots no node with cluster mode enabled")
		}
	}
	return nil
}

func (e Env) canFailOver(g aws.Group, s scenario.Step) error {
	var errs []error
	if g.AutomaticFailover != "enabled" {
		errs = append(errs, fmt.Errorf("automatic failover of %s is %s", g.ID, g.AutomaticFailover))
	}
	if g.MultiAZ != "enabled" {
		errs = append(errs, fmt.Errorf("Multi-AZ of %s is %s", g.ID, g.MultiAZ))
	}
	sh, err := e.shard(g, s.NodeGroup)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	said := e.byID()
	if e.Nodes == nil {
		if len(sh.Members) < 2 {
			errs = append(errs, fmt.Errorf("node group %s has no replica", sh.ID))
		}
		return errors.Join(errs...)
	}
	if !slices.ContainsFunc(e.withRole(sh, replica), func(id string) bool { return said[id].Link == "up" }) {
		errs = append(errs, fmt.Errorf("node group %s has no replica that follows its primary", sh.ID))
	}
	return errors.Join(errs...)
}

// Text shows the target.
func (t Target) Text(w io.Writer, said []Role) error {
	var b strings.Builder
	where := "AWS"
	if t.Place.Loopback {
		where = "a local ElastiCache"
	}
	fmt.Fprintf(&b, "%s: %s, account %s, region %s, as %s\n", where, t.Place.Endpoint, t.Place.Account, t.Place.Region, t.Place.ARN)
	g := t.Group
	fmt.Fprintf(&b, "group %s: %s, %s %s on %s, automatic failover %s, Multi-AZ %s", g.ID, g.Status, g.Engine, g.EngineVersion, g.NodeType, g.AutomaticFailover, g.MultiAZ)
	if g.Durability != "" {
		fmt.Fprintf(&b, ", durability %s", g.Durability)
	}
	fmt.Fprintf(&b, "\n%d failovers were tested in this account in the last 24 hours\n", t.Failovers)
	for _, s := range g.Shards {
		fmt.Fprintf(&b, "node group %s: %s", s.ID, s.Status)
		if s.Slots != "" {
			fmt.Fprintf(&b, ", slots %s", s.Slots)
		}
		b.WriteString("\n")
		for _, m := range s.Members {
			fmt.Fprintf(&b, "  %s  %-12s %-10s %s  %s\n", m.ID, m.Status, roleOf(said, m.ID), m.Zone, m.Addr)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Role is what a node says it is.
type Role struct{ Node, Role string }

// Roles lists what all nodes said last.
func (e Env) Roles() []Role {
	var out []Role
	if e.Nodes == nil {
		return nil
	}
	for _, n := range e.Nodes() {
		role := n.Role
		if !n.Up {
			role = "unreachable"
		}
		out = append(out, Role{n.ID, role})
	}
	return out
}

func roleOf(said []Role, id string) string {
	for _, r := range said {
		if r.Node == id {
			return r.Role
		}
	}
	return "-"
}
