package action

import (
	"cmp"
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

// Preflight looks at where the steps go, which will be done a number of times, and
// refuses what is not allowed, not healthy, or not possible. All refusals are told at once. The Target is good for
// showing even then, as far as it came.
func Preflight(ctx context.Context, e Env, allowed config.AWS, steps []scenario.Step, times int) (t Target, err error) {
	if t, err = Look(ctx, e); err != nil {
		return t, err
	}
	errs := []error{permitted(ctx, e, allowed, t.Group), fit(t.Group), e.agree(t.Group), t.quota(steps, times)}
	for i, s := range steps {
		if err := e.possible(t.Group, s, !slices.ContainsFunc(steps[:i], reshapes)); err != nil {
			errs = append(errs, fmt.Errorf("step %d, %s: %w", i+1, s.Kind, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return t, fail.WithHint(fmt.Errorf("refused, nothing was changed: %w", err), "see `rankbench describe`, and mend what is not healthy")
	}
	return t, nil
}

// quota holds the steps' failovers against what the account has left. A local
// ElastiCache has the quota that it was started with, and says so itself.
func (t Target) quota(steps []scenario.Step, times int) error {
	n := 0
	for _, s := range steps {
		if s.Kind == scenario.TestFailover {
			n += times
		}
	}
	if n == 0 || t.Failovers+n <= quota || t.Place.Loopback {
		return nil
	}
	return fmt.Errorf("%d failovers were tested in this account within 24 hours, %d more are asked for, and ElastiCache allows %d", t.Failovers, n, quota)
}

// reshapes tells whether a step changes which nodes there are.
func reshapes(s scenario.Step) bool {
	switch s.Kind {
	case scenario.IncreaseReplicas, scenario.DecreaseReplicas, scenario.AddShards, scenario.RemoveShards:
		return true
	}
	return false
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

// possible tells whether a step can be done. What steps before it make of the
// group is not known: only where there are none that reshape it, names and counts
// are held against the present ones.
func (e Env) possible(g aws.Group, s scenario.Step, present bool) error {
	var errs []error
	if present {
		errs = append(errs, meant(g, s))
	}
	switch s.Kind {
	case scenario.TestFailover:
		errs = append(errs, canFailOver(g))
		if present {
			errs = append(errs, e.hasReplica(g, s))
		}
	case scenario.AddShards, scenario.RemoveShards:
		if !g.ClusterEnabled {
			errs = append(errs, errors.New("cluster mode is disabled: there is one shard"))
		} else if present {
			errs = append(errs, direction(g, s))
		}
	case scenario.Kill, scenario.Hang, scenario.Resume:
		if e.Pid == nil {
			errs = append(errs, errors.New("only the nodes of a local ElastiCache have processes here; use test_failover"))
		}
	case scenario.Reboot:
		if g.ClusterEnabled {
			errs = append(errs, errors.New("ElastiCache reboots no node with cluster mode enabled"))
		}
	}
	return errors.Join(errs...)
}

// meant wants what a step names to be there, and what it asks for to be a change.
func meant(g aws.Group, s scenario.Step) error {
	var errs []error
	if _, there := g.Shard(s.NodeGroup); s.NodeGroup != "" && !there {
		return fmt.Errorf("replication group %s has no node group %s", g.ID, s.NodeGroup)
	}
	if s.Kind == scenario.RemoveShards {
		for _, id := range s.Nodes {
			if _, there := g.Shard(id); !there {
				errs = append(errs, fmt.Errorf("replication group %s has no node group %s", g.ID, id))
			}
		}
		return errors.Join(errs...)
	}
	return errors.Join(known(g, s.Nodes), leads(g, s))
}

// leads wants a count of replicas to be more than some node group has and not
// less than any, or the other way about.
func leads(g aws.Group, s scenario.Step) error {
	if s.Kind != scenario.IncreaseReplicas && s.Kind != scenario.DecreaseReplicas || len(s.Nodes) > 0 {
		return nil
	}
	has := counts(g)
	if s.NodeGroup != "" {
		has = map[string]int{s.NodeGroup: has[s.NodeGroup]}
	}
	more, fewer := false, false
	for _, n := range has {
		more, fewer = more || s.Count > n, fewer || s.Count < n
	}
	if increase := s.Kind == scenario.IncreaseReplicas; more == increase && fewer == !increase {
		return nil
	}
	return fmt.Errorf("the replicas are %s now, and count says how many there shall be, which is %d", written(has), s.Count)
}

func canFailOver(g aws.Group) error {
	var errs []error
	if g.AutomaticFailover != "enabled" {
		errs = append(errs, fmt.Errorf("automatic failover of %s is %s", g.ID, g.AutomaticFailover))
	}
	if g.MultiAZ != "enabled" {
		errs = append(errs, fmt.Errorf("Multi-AZ of %s is %s", g.ID, g.MultiAZ))
	}
	return errors.Join(errs...)
}

// hasReplica wants somebody to take over.
func (e Env) hasReplica(g aws.Group, s scenario.Step) error {
	sh, err := e.shard(g, s.NodeGroup)
	said := e.byID()
	switch {
	case err != nil && s.NodeGroup != "":
		return nil // meant has said so
	case err != nil:
		return err
	case len(sh.Members) < 2:
		return fmt.Errorf("node group %s has no replica", sh.ID)
	case e.Nodes == nil || slices.ContainsFunc(e.withRole(sh, replica), func(id string) bool { return said[id].Link == "up" }):
		return nil
	}
	return fmt.Errorf("node group %s has no replica that follows its primary", sh.ID)
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
			fmt.Fprintf(&b, "  %s  %-12s %-10s %s  %s\n", m.ID, m.Status, roleOf(said, m), m.Zone, m.Addr)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Role is what a node says it is.
type Role struct {
	Node string `json:"node"`
	Role string `json:"role"` // primary, replica, unreachable
}

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

func roleOf(said []Role, m aws.Member) string {
	for _, r := range said {
		if r.Node == m.ID {
			return r.Role
		}
	}
	return cmp.Or(m.Role, "-")
}
