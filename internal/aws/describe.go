package aws

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
)

// pageSize is the most that the Describe calls give at once.
const pageSize = 100

// Group describes a replication group and its nodes. A node that is coming or
// going is in no node group yet, or any more; it is put into the shard that its
// name tells, or into one without an id.
func (c *Client) Group(ctx context.Context, id string) (Group, error) {
	what := "describe replication group " + id
	out, err := c.read.DescribeReplicationGroups(ctx, &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: &id})
	if err != nil {
		return Group{}, c.explain(what, err)
	}
	if len(out.ReplicationGroups) == 0 {
		return Group{}, c.explain(what, &Error{Code: CodeBadAnswer, Message: "the answer has no group", hint: hint("", CodeBadAnswer)})
	}
	nodes, err := c.nodesOf(ctx, out.ReplicationGroups[0])
	if err != nil {
		return Group{}, c.explain("describe the nodes of replication group "+id, err)
	}
	return join(out.ReplicationGroups[0], nodes), nil
}

// Tags returns the tags of a group or a node.
func (c *Client) Tags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := c.read.ListTagsForResource(ctx, &elasticache.ListTagsForResourceInput{ResourceName: &arn})
	if err != nil {
		return nil, c.explain("list the tags of "+arn, err)
	}
	tags := map[string]string{}
	for _, t := range out.TagList {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// nodesOf lists the nodes that say they are the group's, or that it says are. All
// nodes of the account are asked for: a call for each of a group's is more calls
// already where the account has a few hundred.
func (c *Client) nodesOf(ctx context.Context, g types.ReplicationGroup) (map[string]types.CacheCluster, error) {
	found := map[string]types.CacheCluster{}
	pages := elasticache.NewDescribeCacheClustersPaginator(c.read, &elasticache.DescribeCacheClustersInput{
		ShowCacheNodeInfo: aws.Bool(true), MaxRecords: aws.Int32(pageSize),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range page.CacheClusters {
			id := aws.ToString(n.CacheClusterId)
			if aws.ToString(n.ReplicationGroupId) == aws.ToString(g.ReplicationGroupId) || slices.Contains(g.MemberClusters, id) {
				found[id] = n
			}
		}
	}
	return found, nil
}

// join makes a Group of both descriptions.
func join(from types.ReplicationGroup, nodes map[string]types.CacheCluster) Group {
	g := groupOf(from)
	for _, n := range from.NodeGroups {
		g.Shards = append(g.Shards, shardOf(n, nodes))
	}
	ids := slices.Clone(from.MemberClusters)
	for id, n := range nodes {
		ids = append(ids, id)
		g.EngineVersion = cmp.Or(g.EngineVersion, aws.ToString(n.EngineVersion))
		g.NodeType = cmp.Or(g.NodeType, aws.ToString(n.CacheNodeType))
		g.Engine = cmp.Or(g.Engine, aws.ToString(n.Engine))
		g.MaintenanceWindow = cmp.Or(g.MaintenanceWindow, aws.ToString(n.PreferredMaintenanceWindow))
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		g.place(memberOf(id, nodes))
	}
	return g
}

// place puts a member into its shard, unless it is in one.
func (g *Group) place(m Member) {
	if slices.ContainsFunc(g.Members(), func(other Member) bool { return other.ID == m.ID }) {
		return
	}
	m.Shard = g.shardOf(m.ID)
	i := slices.IndexFunc(g.Shards, func(s Shard) bool { return s.ID == m.Shard })
	if i < 0 {
		g.Shards = append(g.Shards, Shard{ID: m.Shard, Status: m.Status})
		i = len(g.Shards) - 1
	}
	g.Shards[i].Members = append(g.Shards[i].Members, m)
}

func groupOf(from types.ReplicationGroup) Group {
	g := Group{
		ID: aws.ToString(from.ReplicationGroupId), ARN: aws.ToString(from.ARN), Description: aws.ToString(from.Description),
		Status: aws.ToString(from.Status), Engine: aws.ToString(from.Engine), NodeType: aws.ToString(from.CacheNodeType),
		ClusterEnabled: aws.ToBool(from.ClusterEnabled), ClusterMode: string(from.ClusterMode),
		AutomaticFailover: string(from.AutomaticFailover), MultiAZ: string(from.MultiAZ),
		TransitEncryption: aws.ToBool(from.TransitEncryptionEnabled), AuthToken: aws.ToBool(from.AuthTokenEnabled),
		Configuration: hostPort(from.ConfigurationEndpoint), SnapshotWindow: aws.ToString(from.SnapshotWindow),
		Durability: cmp.Or(string(from.EffectiveDurability), string(from.Durability)),
	}
	if from.GlobalReplicationGroupInfo != nil {
		g.GlobalDatastore = aws.ToString(from.GlobalReplicationGroupInfo.GlobalReplicationGroupId)
	}
	if p := from.PendingModifiedValues; p != nil {
		g.Pending, g.Resharding = pending(*p), resharding(*p)
	}
	return g
}

func pending(p types.ReplicationGroupPendingModifiedValues) []string {
	var names []string
	add := func(name string, there bool) {
		if there {
			names = append(names, name)
		}
	}
	add("AuthTokenStatus", p.AuthTokenStatus != "")
	add("AutomaticFailoverStatus", p.AutomaticFailoverStatus != "")
	add("ClusterMode", p.ClusterMode != "")
	add("LogDeliveryConfigurations", len(p.LogDeliveryConfigurations) > 0)
	add("PrimaryClusterId", aws.ToString(p.PrimaryClusterId) != "")
	add("Resharding", p.Resharding != nil)
	add("TransitEncryptionEnabled", p.TransitEncryptionEnabled != nil)
	add("TransitEncryptionMode", p.TransitEncryptionMode != "")
	add("UserGroups", p.UserGroups != nil)
	return names
}

func resharding(p types.ReplicationGroupPendingModifiedValues) *float64 {
	if p.Resharding == nil {
		return nil
	}
	percent := 0.0
	if p.Resharding.SlotMigration != nil {
		percent = aws.ToFloat64(p.Resharding.SlotMigration.ProgressPercentage)
	}
	return &percent
}

func shardOf(n types.NodeGroup, nodes map[string]types.CacheCluster) Shard {
	s := Shard{
		ID: aws.ToString(n.NodeGroupId), Status: aws.ToString(n.Status), Slots: aws.ToString(n.Slots),
		Primary: hostPort(n.PrimaryEndpoint), Reader: hostPort(n.ReaderEndpoint),
	}
	for _, listed := range n.NodeGroupMembers {
		m := memberOf(aws.ToString(listed.CacheClusterId), nodes)
		m.Shard, m.Role, m.Listed = s.ID, aws.ToString(listed.CurrentRole), true
		m.Zone = cmp.Or(m.Zone, aws.ToString(listed.PreferredAvailabilityZone))
		m.Addr = cmp.Or(m.Addr, hostPort(listed.ReadEndpoint))
		s.Members = append(s.Members, m)
	}
	return s
}

func memberOf(id string, nodes map[string]types.CacheCluster) Member {
	n, ok := nodes[id]
	if !ok {
		return Member{ID: id, Status: missing}
	}
	m := Member{
		ID: id, Status: aws.ToString(n.CacheClusterStatus), Zone: aws.ToString(n.PreferredAvailabilityZone),
		Created: aws.ToTime(n.CacheClusterCreateTime),
	}
	for _, node := range n.CacheNodes { // there is one
		m.Addr = cmp.Or(m.Addr, hostPort(node.Endpoint))
		if node.CacheNodeCreateTime != nil {
			m.Created = *node.CacheNodeCreateTime
		}
	}
	return m
}

func hostPort(e *types.Endpoint) string {
	if e == nil || aws.ToString(e.Address) == "" {
		return ""
	}
	return net.JoinHostPort(*e.Address, strconv.Itoa(int(aws.ToInt32(e.Port))))
}

// nodeStatus is the status of one node.
func (c *Client) nodeStatus(ctx context.Context, id string) (string, error) {
	out, err := c.read.DescribeCacheClusters(ctx, &elasticache.DescribeCacheClustersInput{CacheClusterId: &id})
	if err != nil {
		return "", c.explain("describe "+id, err)
	}
	if len(out.CacheClusters) == 0 {
		return missing, nil
	}
	return aws.ToString(out.CacheClusters[0].CacheClusterStatus), nil
}
