package api

import (
	"context"
	"strings"

	"github.com/rankbench/rankbench/internal/local/control"
)

// grouped is the result of a call that answers with the group.
func grouped(g control.ReplicationGroup, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return xmlGroupResult{groupXML(g)}, nil
}

func (h *handler) createReplicationGroup(ctx context.Context, c *call) (any, error) {
	a := c.args
	refuseUnsimulated(a)
	in := control.CreateInput{
		ID:                a.requiredID("ReplicationGroupId"),
		Description:       a.required("ReplicationGroupDescription"),
		Engine:            a.text("Engine"),
		NodeType:          a.text("CacheNodeType"),
		ClusterMode:       a.text("ClusterMode"),
		ParameterGroup:    a.text("CacheParameterGroupName"),
		NumNodeGroups:     a.whole("NumNodeGroups"),
		ReplicasPerGroup:  a.whole("ReplicasPerNodeGroup"),
		NumCacheClusters:  a.whole("NumCacheClusters"),
		AutomaticFailover: a.flag("AutomaticFailoverEnabled"),
		MultiAZ:           a.flag("MultiAZEnabled"),
		Port:              a.whole("Port"),
		TransitEncryption: a.isSet("TransitEncryptionEnabled"),
		AuthToken:         a.text("AuthToken"),
		Tags:              a.tags(),
	}
	if err := a.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.CreateReplicationGroup(ctx, in))
}

// refuseUnsimulated refuses what would make the group another one than the one
// asked for. Other parameters that only AWS has a use for are ignored.
func refuseUnsimulated(a args) {
	for _, name := range []string{"NodeGroupConfiguration", "SnapshotArns", "SnapshotName", "ServerlessCacheSnapshotName",
		"PrimaryClusterId", "GlobalReplicationGroupId"} {
		if v := a.fields[name]; v != nil && v != raw("") {
			a.fault(refuse(codeParameterMix, "This local ElastiCache does not create groups by %s.", name))
		}
	}
}

func (h *handler) deleteReplicationGroup(ctx context.Context, c *call) (any, error) {
	a := c.args
	id := a.requiredID("ReplicationGroupId")
	if a.text("FinalSnapshotIdentifier") != "" || a.isSet("RetainPrimaryCluster") {
		a.fault(refuse(codeParameterMix,
			"This local ElastiCache has no snapshots and keeps no primary without its group: FinalSnapshotIdentifier and RetainPrimaryCluster cannot be used."))
	}
	if err := a.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.DeleteReplicationGroup(ctx, id))
}

func (h *handler) testFailover(ctx context.Context, c *call) (any, error) {
	group, nodeGroup := c.args.requiredID("ReplicationGroupId"), c.args.required("NodeGroupId")
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.TestFailover(ctx, group, nodeGroup))
}

func (h *handler) increaseReplicaCount(ctx context.Context, c *call) (any, error) {
	change := replicaChange(c.args)
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.IncreaseReplicaCount(ctx, change))
}

func (h *handler) decreaseReplicaCount(ctx context.Context, c *call) (any, error) {
	change := replicaChange(c.args)
	for _, id := range c.args.texts("ReplicasToRemove", "member") {
		change.Remove = append(change.Remove, strings.ToLower(id))
	}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.DecreaseReplicaCount(ctx, change))
}

func replicaChange(a args) control.ReplicaChange {
	change := control.ReplicaChange{
		GroupID:          a.requiredID("ReplicationGroupId"),
		NewReplicaCount:  a.whole("NewReplicaCount"),
		ApplyImmediately: a.requiredFlag("ApplyImmediately"),
	}
	for _, shard := range a.structures("ReplicaConfiguration", "ConfigureShard") {
		change.Shards = append(change.Shards, control.ShardReplicas{
			NodeGroupID:     shard.required("NodeGroupId"),
			NewReplicaCount: shard.requiredWhole("NewReplicaCount"),
			Zones:           shard.texts("PreferredAvailabilityZones", "PreferredAvailabilityZone"),
		})
	}
	return change
}

func (h *handler) modifyShards(ctx context.Context, c *call) (any, error) {
	a := c.args
	change := control.ShardChange{
		GroupID:          a.requiredID("ReplicationGroupId"),
		NodeGroupCount:   a.requiredWhole("NodeGroupCount"),
		Remove:           a.texts("NodeGroupsToRemove", "NodeGroupToRemove"),
		Retain:           a.texts("NodeGroupsToRetain", "NodeGroupToRetain"),
		ApplyImmediately: a.requiredFlag("ApplyImmediately"),
	}
	if err := a.err(); err != nil {
		return nil, err
	}
	return grouped(h.plane.ModifyShards(ctx, change))
}

func (h *handler) rebootCacheCluster(ctx context.Context, c *call) (any, error) {
	id, nodes := c.args.requiredID("CacheClusterId"), c.args.texts("CacheNodeIdsToReboot", "CacheNodeId")
	if len(nodes) == 0 {
		c.args.missing("CacheNodeIdsToReboot")
	}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	cluster, err := h.plane.RebootCacheCluster(ctx, id, nodes)
	if err != nil {
		return nil, err
	}
	return xmlClusterResult{clusterXML(cluster, false)}, nil
}
