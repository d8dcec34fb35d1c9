package aws

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookBack is how long before the call events are asked for; what is too old is
// left out later, once the answer has told AWS's time.
const lookBack = 20 * time.Minute

// Confirm looks once for traces of a call: the event that tells of it, or a group
// that is as the call wanted it. Events come late, up to a minute or two, so
// false is "nothing to be seen so far". A group that was as wanted before the
// call counts as well; AWS would have refused to do anything.
func (c *Client) Confirm(ctx context.Context, call Call) (happened bool, err error) {
	facts, err := c.factsSince(ctx, call.At)
	if err != nil {
		return false, err
	}
	switch call.Name {
	case callTestFailover:
		return told(facts, FailoverCalled, call), nil
	case callIncrease, callDecrease, callShards:
		return c.confirmGroup(ctx, call, facts)
	case callReboot:
		return c.confirmReboot(ctx, call, facts)
	}
	return false, fmt.Errorf("confirm %s: no such call", call.Name)
}

// factsSince reads the events from our time at on. An event is cut to the
// millisecond.
func (c *Client) factsSince(ctx context.Context, at time.Time) ([]Fact, error) {
	events, err := c.Events(ctx, at.Add(-lookBack), time.Time{})
	if err != nil {
		return nil, err
	}
	from := c.clock.earliest(at).Add(-time.Millisecond)
	var facts []Fact
	for _, e := range events {
		if !e.At.Before(from) {
			facts = append(facts, Read(e))
		}
	}
	return facts, nil
}

// told reports whether there is an event of a kind about what the call names.
func told(facts []Fact, kind Kind, call Call) bool {
	return slices.ContainsFunc(facts, func(f Fact) bool {
		return f.Kind == kind && f.Group == call.Group && (f.Shard == "" || f.Shard == call.Parameters["NodeGroupId"])
	})
}

func (c *Client) confirmGroup(ctx context.Context, call Call, facts []Fact) (bool, error) {
	switch {
	case call.Name == callIncrease && told(facts, ReplicasIncreasing, call),
		call.Name == callDecrease && told(facts, ReplicasDecreasing, call),
		call.Name == callShards && told(facts, SlotsMoved, call):
		return true, nil
	case call.Name == callDecrease && told(facts, DecreaseRefused, call):
		return false, nil
	}
	g, err := c.Group(ctx, call.Group)
	if err != nil {
		return false, err
	}
	if call.Name == callShards {
		return g.Status == "modifying" || g.Resharding != nil, nil
	}
	return g.shows(call), nil
}

// shows reports whether the replicas are as the call wanted them. Members that
// are being created count, ones that are being deleted do not.
func (g Group) shows(call Call) bool {
	if list := call.Parameters["ReplicasToRemove"]; list != "" {
		isThere := func(id string) bool {
			return slices.ContainsFunc(g.Members(), func(m Member) bool { return m.ID == id && m.stays() })
		}
		return !slices.ContainsFunc(strings.Split(list, ","), isThere)
	}
	for id, want := range g.wanted(call) {
		s, _ := g.Shard(id)
		replicas := -1 // the primary is none
		for _, m := range s.Members {
			if m.stays() {
				replicas++
			}
		}
		if call.Name == callIncrease && replicas < want || call.Name == callDecrease && replicas > want {
			return false
		}
	}
	return true
}

func (m Member) stays() bool {
	return m.Status != "deleting" && m.Status != "deleted" && m.Status != missing
}

// wanted are the numbers of replicas by shard.
func (g Group) wanted(call Call) map[string]int {
	want := map[string]int{}
	if count, err := strconv.Atoi(call.Parameters["NewReplicaCount"]); err == nil {
		for _, s := range g.Shards {
			want[s.ID] = count
		}
	}
	for shard := range strings.SplitSeq(call.Parameters["ReplicaConfiguration"], ",") {
		id, text, _ := strings.Cut(shard, "=")
		if count, err := strconv.Atoi(text); err == nil {
			want[id] = count
		}
	}
	return want
}

func (c *Client) confirmReboot(ctx context.Context, call Call, facts []Fact) (bool, error) {
	node := call.Parameters["CacheClusterId"]
	restarts := func(f Fact) bool { return f.Node == node && (f.Kind == NodeShutDown || f.Kind == NodeRestarted) }
	if slices.ContainsFunc(facts, restarts) {
		return true, nil
	}
	status, err := c.nodeStatus(ctx, node)
	return strings.HasPrefix(status, "rebooting"), err
}
