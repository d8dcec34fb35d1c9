package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/rankbench/rankbench/internal/fail"
)

// Replicas says how many replicas there shall be; exactly one of its fields is set.
type Replicas struct {
	Count    *int           // in each shard
	PerShard map[string]int // by the shard's id; others stay as they are
	Remove   []string       // ids of nodes to remove; only to decrease
}

// ShardChange says how many shards there shall be. To have fewer, exactly one of
// Remove and Retain names shards; with the present Count slots are spread anew.
type ShardChange struct {
	Count          int
	Remove, Retain []string
}

// TestFailover takes the primary of a shard down and has a replica promoted. The
// call returns before anything has happened.
func (c *Client) TestFailover(ctx context.Context, group, shard string) (Call, error) {
	what := fmt.Sprintf("test failover of %s/%s", group, shard)
	if group == "" || shard == "" {
		return Call{}, misused(what, "a group and a node group are wanted")
	}
	in := &elasticache.TestFailoverInput{ReplicationGroupId: &group, NodeGroupId: &shard}
	call := Call{Name: callTestFailover, Group: group, Parameters: map[string]string{
		"ReplicationGroupId": group, "NodeGroupId": shard,
	}}
	return c.perform(ctx, what, call, func(ctx context.Context) (middleware.Metadata, bool, error) {
		out, err := c.change.TestFailover(ctx, in)
		if err != nil {
			return middleware.Metadata{}, false, err
		}
		return out.ResultMetadata, out.ReplicationGroup != nil, nil
	})
}

// IncreaseReplicas adds replicas to a group.
func (c *Client) IncreaseReplicas(ctx context.Context, group string, to Replicas) (Call, error) {
	what := "increase the replica count of " + group
	if err := to.check(group, false); err != nil {
		return Call{}, misused(what, err.Error())
	}
	in := &elasticache.IncreaseReplicaCountInput{
		ReplicationGroupId: &group, ApplyImmediately: aws.Bool(true),
		NewReplicaCount: to.count(), ReplicaConfiguration: to.perShard(),
	}
	call := Call{Name: callIncrease, Group: group, Parameters: to.parameters(group)}
	return c.perform(ctx, what, call, func(ctx context.Context) (middleware.Metadata, bool, error) {
		out, err := c.change.IncreaseReplicaCount(ctx, in)
		if err != nil {
			return middleware.Metadata{}, false, err
		}
		return out.ResultMetadata, out.ReplicationGroup != nil, nil
	})
}

// DecreaseReplicas removes replicas from a group. That a primary is among those
// to be removed is no error: AWS accepts the call, and refuses with an event
// (DecreaseRefused).
func (c *Client) DecreaseReplicas(ctx context.Context, group string, to Replicas) (Call, error) {
	what := "decrease the replica count of " + group
	if err := to.check(group, true); err != nil {
		return Call{}, misused(what, err.Error())
	}
	in := &elasticache.DecreaseReplicaCountInput{
		ReplicationGroupId: &group, ApplyImmediately: aws.Bool(true),
		NewReplicaCount: to.count(), ReplicaConfiguration: to.perShard(), ReplicasToRemove: to.Remove,
	}
	call := Call{Name: callDecrease, Group: group, Parameters: to.parameters(group)}
	return c.perform(ctx, what, call, func(ctx context.Context) (middleware.Metadata, bool, error) {
		out, err := c.change.DecreaseReplicaCount(ctx, in)
		if err != nil {
			return middleware.Metadata{}, false, err
		}
		return out.ResultMetadata, out.ReplicationGroup != nil, nil
	})
}

// ModifyShards adds or removes shards, or spreads the slots anew.
func (c *Client) ModifyShards(ctx context.Context, group string, to ShardChange) (Call, error) {
	what := "change the shards of " + group
	switch {
	case group == "" || to.Count < 1:
		return Call{}, misused(what, "a group and at least one shard are wanted")
	case len(to.Remove) > 0 && len(to.Retain) > 0:
		return Call{}, misused(what, "either the shards to remove or those to retain are wanted, not both")
	}
	in := &elasticache.ModifyReplicationGroupShardConfigurationInput{
		ReplicationGroupId: &group, ApplyImmediately: aws.Bool(true), NodeGroupCount: aws.Int32(int32(to.Count)),
		NodeGroupsToRemove: to.Remove, NodeGroupsToRetain: to.Retain,
	}
	call := Call{Name: callShards, Group: group, Parameters: to.parameters(group)}
	return c.perform(ctx, what, call, func(ctx context.Context) (middleware.Metadata, bool, error) {
		out, err := c.change.ModifyReplicationGroupShardConfiguration(ctx, in)
		if err != nil {
			return middleware.Metadata{}, false, err
		}
		return out.ResultMetadata, out.ReplicationGroup != nil, nil
	})
}

// theNode is the id of the one cache node in a cache cluster of a replication group.
const theNode = "0001"

// Reboot restarts the server on a node. It does not make a replica take over.
func (c *Client) Reboot(ctx context.Context, node string) (Call, error) {
	what := "reboot " + node
	if node == "" {
		return Call{}, misused(what, "a node is wanted")
	}
	in := &elasticache.RebootCacheClusterInput{CacheClusterId: &node, CacheNodeIdsToReboot: []string{theNode}}
	call := Call{Name: callReboot, Parameters: map[string]string{"CacheClusterId": node, "CacheNodeIdsToReboot": theNode}}
	return c.perform(ctx, what, call, func(ctx context.Context) (middleware.Metadata, bool, error) {
		out, err := c.change.RebootCacheCluster(ctx, in)
		if err != nil {
			return middleware.Metadata{}, false, err
		}
		return out.ResultMetadata, out.CacheCluster != nil, nil
	})
}

// misused is a call that is not sent.
func misused(what, why string) error {
	return fail.WithCode(fmt.Errorf("%s: %w", what, &Error{Code: CodeBadRequest, Message: why}), fail.CodeUsage)
}

func (r Replicas) check(group string, decrease bool) error {
	set := 0
	for _, is := range []bool{r.Count != nil, len(r.PerShard) > 0, len(r.Remove) > 0} {
		if is {
			set++
		}
	}
	switch {
	case group == "":
		return errors.New("a group is wanted")
	case len(r.Remove) > 0 && !decrease:
		return errors.New("nodes cannot be named when replicas are added")
	case set != 1:
		return errors.New("exactly one is wanted: a count for all shards, counts by shard, or nodes to remove")
	case r.Count != nil && *r.Count < 0 || slices.Min(append(slices.Collect(maps.Values(r.PerShard)), 0)) < 0:
		return errors.New("the number of replicas is negative")
	}
	return nil
}

func (r Replicas) count() *int32 {
	if r.Count == nil {
		return nil
	}
	return aws.Int32(int32(*r.Count))
}

func (r Replicas) perShard() []types.ConfigureShard {
	var all []types.ConfigureShard
	for _, id := range slices.Sorted(maps.Keys(r.PerShard)) {
		all = append(all, types.ConfigureShard{NodeGroupId: &id, NewReplicaCount: aws.Int32(int32(r.PerShard[id]))})
	}
	return all
}

// parameters are AWS's, lists with commas between: ReplicaConfiguration is
// "0001=2,0002=1".
func (r Replicas) parameters(group string) map[string]string {
	p := map[string]string{"ReplicationGroupId": group, "ApplyImmediately": "true"}
	if r.Count != nil {
		p["NewReplicaCount"] = strconv.Itoa(*r.Count)
	}
	var shards []string
	for _, id := range slices.Sorted(maps.Keys(r.PerShard)) {
		shards = append(shards, fmt.Sprintf("%s=%d", id, r.PerShard[id]))
	}
	setList(p, "ReplicaConfiguration", shards)
	setList(p, "ReplicasToRemove", r.Remove)
	return p
}

func (s ShardChange) parameters(group string) map[string]string {
	p := map[string]string{"ReplicationGroupId": group, "ApplyImmediately": "true", "NodeGroupCount": strconv.Itoa(s.Count)}
	setList(p, "NodeGroupsToRemove", s.Remove)
	setList(p, "NodeGroupsToRetain", s.Retain)
	return p
}

func setList(p map[string]string, name string, items []string) {
	if len(items) > 0 {
		p[name] = strings.Join(items, ",")
	}
}
