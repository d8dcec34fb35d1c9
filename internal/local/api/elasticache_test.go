package api

import (
	"context"
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/rankbench/rankbench/internal/local/control"
)

// wantEnabled is enabledGroup as a client of AWS sees it.
func wantEnabled() types.ReplicationGroup {
	return types.ReplicationGroup{
		ReplicationGroupId:    aws.String("lb"),
		Description:           aws.String("a board <1>"),
		Status:                aws.String("modifying"),
		PendingModifiedValues: &types.ReplicationGroupPendingModifiedValues{Resharding: &types.ReshardingStatus{SlotMigration: &types.SlotMigration{ProgressPercentage: aws.Float64(12.5)}}},
		MemberClusters:        []string{"lb-0001-001", "lb-0001-002", "lb-0001-003"},
		NodeGroups: []types.NodeGroup{{
			NodeGroupId: aws.String("0001"), Status: aws.String("available"), Slots: aws.String("0-5460,10923-16383"),
			NodeGroupMembers: []types.NodeGroupMember{
				{CacheClusterId: aws.String("lb-0001-001"), CacheNodeId: aws.String("0001"), PreferredAvailabilityZone: aws.String("us-east-1a")},
				{CacheClusterId: aws.String("lb-0001-002"), CacheNodeId: aws.String("0001"), PreferredAvailabilityZone: aws.String("us-east-1b")},
			},
		}},
		AutomaticFailover:          types.AutomaticFailoverStatusEnabled,
		MultiAZ:                    types.MultiAZStatusEnabled,
		ConfigurationEndpoint:      &types.Endpoint{Address: aws.String("127.0.0.1"), Port: aws.Int32(7000)},
		SnapshotRetentionLimit:     aws.Int32(0),
		ClusterEnabled:             aws.Bool(true),
		CacheNodeType:              aws.String("cache.r6g.large"),
		AuthTokenEnabled:           aws.Bool(true),
		TransitEncryptionEnabled:   aws.Bool(true),
		AtRestEncryptionEnabled:    aws.Bool(false),
		ARN:                        aws.String("arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb"),
		ReplicationGroupCreateTime: aws.Time(created),
		TransitEncryptionMode:      types.TransitEncryptionModeRequired,
		ClusterMode:                types.ClusterModeEnabled,
		Engine:                     aws.String("redis"),
	}
}

func wantDisabled() types.ReplicationGroup {
	endpoint := func(address string, port int32) *types.Endpoint {
		return &types.Endpoint{Address: aws.String(address), Port: aws.Int32(port)}
	}
	return types.ReplicationGroup{
		ReplicationGroupId:    aws.String("single"),
		Description:           aws.String("one"),
		Status:                aws.String("available"),
		PendingModifiedValues: &types.ReplicationGroupPendingModifiedValues{},
		MemberClusters:        []string{"single-001", "single-002"},
		NodeGroups: []types.NodeGroup{{
			NodeGroupId: aws.String("0001"), Status: aws.String("available"),
			PrimaryEndpoint: endpoint("127.0.0.1", 7101), ReaderEndpoint: endpoint("127.0.0.2", 7102),
			NodeGroupMembers: []types.NodeGroupMember{
				{CacheClusterId: aws.String("single-001"), CacheNodeId: aws.String("0001"), PreferredAvailabilityZone: aws.String("us-east-1a"),
					CurrentRole: aws.String("primary"), ReadEndpoint: endpoint("127.0.0.1", 7103)},
				{CacheClusterId: aws.String("single-002"), CacheNodeId: aws.String("0001"), PreferredAvailabilityZone: aws.String("us-east-1b"),
					CurrentRole: aws.String("replica"), ReadEndpoint: endpoint("127.0.0.1", 7104)},
			},
		}},
		AutomaticFailover:          types.AutomaticFailoverStatusDisabled,
		MultiAZ:                    types.MultiAZStatusDisabled,
		SnapshotRetentionLimit:     aws.Int32(0),
		ClusterEnabled:             aws.Bool(false),
		CacheNodeType:              aws.String("cache.m5.large"),
		AuthTokenEnabled:           aws.Bool(false),
		TransitEncryptionEnabled:   aws.Bool(false),
		AtRestEncryptionEnabled:    aws.Bool(false),
		ARN:                        aws.String("arn:aws:elasticache:us-east-1:000000000000:replicationgroup:single"),
		ReplicationGroupCreateTime: aws.Time(created),
		ClusterMode:                types.ClusterModeDisabled,
		Engine:                     aws.String("valkey"),
	}
}

func wantNode(id string, withNode bool) types.CacheCluster {
	c := types.CacheCluster{
		CacheClusterId:            aws.String(id),
		CacheNodeType:             aws.String("cache.r6g.large"),
		Engine:                    aws.String("redis"),
		EngineVersion:             aws.String("7.0.15"),
		CacheClusterStatus:        aws.String("rebooting cluster nodes"),
		NumCacheNodes:             aws.Int32(1),
		PreferredAvailabilityZone: aws.String("us-east-1a"),
		CacheClusterCreateTime:    aws.Time(created),
		PendingModifiedValues:     &types.PendingModifiedValues{},
		ReplicationGroupId:        aws.String("lb"),
		SnapshotRetentionLimit:    aws.Int32(0),
		AuthTokenEnabled:          aws.Bool(true),
		TransitEncryptionEnabled:  aws.Bool(true),
		AtRestEncryptionEnabled:   aws.Bool(false),
		ARN:                       aws.String("arn:aws:elasticache:us-east-1:000000000000:cluster:" + id),
		TransitEncryptionMode:     types.TransitEncryptionModeRequired,
	}
	if withNode {
		c.CacheNodes = []types.CacheNode{{
			CacheNodeId: aws.String("0001"), CacheNodeStatus: aws.String("rebooting cluster nodes"),
			CacheNodeCreateTime: aws.Time(created), CustomerAvailabilityZone: aws.String("us-east-1a"),
			Endpoint: &types.Endpoint{Address: aws.String("127.0.0.1"), Port: aws.Int32(7001)},
		}}
	}
	return c
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, spelled(got), spelled(want))
	}
}

// spelled writes pointers out, as XML because it follows them.
func spelled(v any) string {
	text, err := xml.Marshal(v)
	if err != nil || len(text) == 0 {
		return fmt.Sprintf("%#v", v)
	}
	return string(text)
}

func TestGroupsArriveWithAllFields(t *testing.T) {
	l := startLocal(t)
	l.plane.groups = []control.ReplicationGroup{enabledGroup(), disabledGroup()}
	out, err := l.elasticache().DescribeReplicationGroups(t.Context(), &elasticache.DescribeReplicationGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "cluster mode enabled", out.ReplicationGroups[0], wantEnabled())
	same(t, "cluster mode disabled", out.ReplicationGroups[1], wantDisabled())
	if out.Marker != nil {
		t.Errorf("the only page has the marker %q", *out.Marker)
	}
	one, err := l.elasticache().DescribeReplicationGroups(t.Context(), &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: aws.String("LB")})
	if err != nil || len(one.ReplicationGroups) != 1 || *one.ReplicationGroups[0].ReplicationGroupId != "lb" {
		t.Errorf("by an id in capitals: %v, %v", one, err)
	}
}

// With cluster mode enabled AWS leaves out what would tell the roles, and so must
// the XML itself: a client that is not the SDK takes an empty element for one.
func TestEnabledGroupHasNoRolesOnTheWire(t *testing.T) {
	l := startLocal(t)
	l.plane.groups = []control.ReplicationGroup{enabledGroup()}
	_, body := l.send(t, "POST", "/", "Action=DescribeReplicationGroups&Version=2015-02-02", form)
	for _, name := range []string{"CurrentRole", "ReadEndpoint", "PrimaryEndpoint", "ReaderEndpoint", "Marker"} {
		if strings.Contains(body, name) {
			t.Errorf("the answer has %s: %s", name, body)
		}
	}
}

func TestCacheClustersArriveWithAllFields(t *testing.T) {
	l := startLocal(t)
	creating := node("lb-0001-002")
	creating.Endpoint = control.Endpoint{}
	l.plane.clusters = []control.CacheCluster{node("lb-0001-001"), creating}
	describe := func(in *elasticache.DescribeCacheClustersInput) []types.CacheCluster {
		t.Helper()
		out, err := l.elasticache().DescribeCacheClusters(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out.CacheClusters
	}
	same(t, "without node", describe(&elasticache.DescribeCacheClustersInput{CacheClusterId: aws.String("lb-0001-001")}),
		[]types.CacheCluster{wantNode("lb-0001-001", false)})
	all := describe(&elasticache.DescribeCacheClustersInput{ShowCacheNodeInfo: aws.Bool(true)})
	same(t, "with node", all[0], wantNode("lb-0001-001", true))
	if all[1].CacheNodes[0].Endpoint != nil {
		t.Error("a node that is being created has an endpoint")
	}
	if none := describe(&elasticache.DescribeCacheClustersInput{ShowCacheClustersNotInReplicationGroups: aws.Bool(true)}); len(none) != 0 {
		t.Errorf("%d cache clusters are in no group", len(none))
	}
}

func TestChangesArriveDecodedAndAnswerWithTheGroup(t *testing.T) {
	ctx := context.Background()
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	shards := []types.ConfigureShard{
		{NodeGroupId: aws.String("0001"), NewReplicaCount: aws.Int32(2), PreferredAvailabilityZones: zones},
		{NodeGroupId: aws.String("0002"), NewReplicaCount: aws.Int32(0)},
	}
	wantShards := []control.ShardReplicas{{NodeGroupID: "0001", NewReplicaCount: 2, Zones: zones}, {NodeGroupID: "0002"}}
	for _, row := range []struct {
		name string
		call func(*elasticache.Client) (*types.ReplicationGroup, error)
		want any
	}{
		{"create", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.CreateReplicationGroup(ctx, createInput())
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, wantCreate()},
		{"create with little", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.CreateReplicationGroup(ctx, &elasticache.CreateReplicationGroupInput{
				ReplicationGroupId: aws.String("LB"), ReplicationGroupDescription: aws.String("d")})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, control.CreateInput{ID: "lb", Description: "d"}},
		{"delete", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.DeleteReplicationGroup(ctx, &elasticache.DeleteReplicationGroupInput{
				ReplicationGroupId: aws.String("LB"), RetainPrimaryCluster: aws.Bool(false)})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, "lb"},
		{"test failover", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.TestFailover(ctx, &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("Lb"), NodeGroupId: aws.String("0001")})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, []string{"lb", "0001"}},
		{"increase", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.IncreaseReplicaCount(ctx, &elasticache.IncreaseReplicaCountInput{
				ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), ReplicaConfiguration: shards})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, control.ReplicaChange{GroupID: "lb", ApplyImmediately: true, Shards: wantShards}},
		{"decrease", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.DecreaseReplicaCount(ctx, &elasticache.DecreaseReplicaCountInput{
				ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(false), NewReplicaCount: aws.Int32(1),
				ReplicasToRemove: []string{"lb-0001-002", "LB-0001-003"}})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, control.ReplicaChange{GroupID: "lb", NewReplicaCount: aws.Int(1), Remove: []string{"lb-0001-002", "lb-0001-003"}}},
		{"shards", func(c *elasticache.Client) (*types.ReplicationGroup, error) {
			out, err := c.ModifyReplicationGroupShardConfiguration(ctx, &elasticache.ModifyReplicationGroupShardConfigurationInput{
				ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NodeGroupCount: aws.Int32(2),
				NodeGroupsToRemove: []string{"0003"}, NodeGroupsToRetain: []string{"0001", "0002"}})
			if err != nil {
				return nil, err
			}
			return out.ReplicationGroup, nil
		}, control.ShardChange{GroupID: "lb", ApplyImmediately: true, NodeGroupCount: 2, Remove: []string{"0003"}, Retain: []string{"0001", "0002"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			got, err := row.call(l.elasticache())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "answer", *got, wantEnabled())
			same(t, "asked", l.plane.asked, row.want)
		})
	}
}

func createInput() *elasticache.CreateReplicationGroupInput {
	return &elasticache.CreateReplicationGroupInput{
		ReplicationGroupId:          aws.String("LB"),
		ReplicationGroupDescription: aws.String("a board & more"),
		Engine:                      aws.String("valkey"),
		EngineVersion:               aws.String("8.0"),
		CacheNodeType:               aws.String("cache.r6g.large"),
		CacheParameterGroupName:     aws.String("default.valkey8.cluster.on"),
		ClusterMode:                 types.ClusterModeEnabled,
		NumNodeGroups:               aws.Int32(3),
		ReplicasPerNodeGroup:        aws.Int32(0),
		NumCacheClusters:            aws.Int32(4),
		AutomaticFailoverEnabled:    aws.Bool(true),
		MultiAZEnabled:              aws.Bool(false),
		Port:                        aws.Int32(6380),
		TransitEncryptionEnabled:    aws.Bool(true),
		AuthToken:                   aws.String("a-secret-of-sixteen"),
		SecurityGroupIds:            []string{"sg-1"},
		Tags:                        []types.Tag{{Key: aws.String("team"), Value: aws.String("games")}, {Key: aws.String("rankbench:allow-drill"), Value: aws.String("true")}},
	}
}

func wantCreate() control.CreateInput {
	return control.CreateInput{
		ID: "lb", Description: "a board & more", Engine: "valkey", NodeType: "cache.r6g.large", ClusterMode: "enabled",
		ParameterGroup: "default.valkey8.cluster.on", NumNodeGroups: aws.Int(3), ReplicasPerGroup: aws.Int(0), NumCacheClusters: aws.Int(4),
		AutomaticFailover: aws.Bool(true), MultiAZ: aws.Bool(false), Port: aws.Int(6380), TransitEncryption: true,
		AuthToken: "a-secret-of-sixteen", Tags: map[string]string{"team": "games", "rankbench:allow-drill": "true"},
	}
}

func TestRebootArrivesDecoded(t *testing.T) {
	l := startLocal(t)
	out, err := l.elasticache().RebootCacheCluster(t.Context(), &elasticache.RebootCacheClusterInput{
		CacheClusterId: aws.String("LB-0001-001"), CacheNodeIdsToReboot: []string{"0001"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "answer", *out.CacheCluster, wantNode("lb-0001-001", false))
	same(t, "asked", l.plane.asked, []string{"lb-0001-001", "0001"})
}

func TestTagsAreListedAddedAndRemoved(t *testing.T) {
	const arn = "arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb"
	l := startLocal(t)
	l.plane.tags = map[string]string{"b": "2", "a": ""}
	tag := func(k, v string) types.Tag { return types.Tag{Key: aws.String(k), Value: aws.String(v)} }
	listed, err := l.elasticache().ListTagsForResource(t.Context(), &elasticache.ListTagsForResourceInput{ResourceName: aws.String(arn)})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "listed", listed.TagList, []types.Tag{tag("a", ""), tag("b", "2")})
	same(t, "asked", l.plane.asked, arn)
	added, err := l.elasticache().AddTagsToResource(t.Context(), &elasticache.AddTagsToResourceInput{
		ResourceName: aws.String(arn), Tags: []types.Tag{tag("c", "x y")}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "added", added.TagList, []types.Tag{tag("a", ""), tag("b", "2"), tag("c", "x y")})
	removed, err := l.elasticache().RemoveTagsFromResource(t.Context(), &elasticache.RemoveTagsFromResourceInput{
		ResourceName: aws.String(arn), TagKeys: []string{"a", "z"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "removed", removed.TagList, []types.Tag{tag("b", "2")})
	same(t, "asked to remove", l.plane.asked, []string{"a", "z"})
	if l.plane.calls[0].Resource != "lb" {
		t.Errorf("recorded resource %q", l.plane.calls[0].Resource)
	}
}

func TestPagesOfGroupsAndClustersHaveEachIDOnce(t *testing.T) {
	l := startLocal(t)
	for i := range 95 {
		g, n := enabledGroup(), node(fmt.Sprintf("lb-%04d", i))
		g.ID = fmt.Sprintf("lb-%04d", i)
		l.plane.groups, l.plane.clusters = append(l.plane.groups, g), append(l.plane.clusters, n)
	}
	var groups, clusters []string
	pages := elasticache.NewDescribeReplicationGroupsPaginator(l.elasticache(), &elasticache.DescribeReplicationGroupsInput{MaxRecords: aws.Int32(20)})
	n := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.ReplicationGroups {
			groups = append(groups, *g.ReplicationGroupId)
		}
		n++
	}
	nodePages := elasticache.NewDescribeCacheClustersPaginator(l.elasticache(), &elasticache.DescribeCacheClustersInput{MaxRecords: aws.Int32(95)})
	for nodePages.HasMorePages() {
		page, err := nodePages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.CacheClusters {
			clusters = append(clusters, *c.CacheClusterId)
		}
		n++
	}
	var want []string
	for i := range 95 {
		want = append(want, fmt.Sprintf("lb-%04d", i))
	}
	same(t, "groups", groups, want)
	same(t, "clusters", clusters, want)
	if n != 6 {
		t.Errorf("%d pages, want 5 of groups and 1 of clusters", n)
	}
}

func events(n int) []control.Event {
	var all []control.Event
	for i := n; i > 0; i-- {
		all = append(all, control.Event{Seq: uint64(i), Date: present.Add(time.Duration(i-n) * time.Second), SourceID: "lb",
			Source: control.SourceGroup, Message: fmt.Sprintf("Test Failover API called for node group %04d", i)})
	}
	return all
}

// A new event comes in with every page; none may be missed or come twice.
func TestEventsThatComeInBetweenDoNotShiftPages(t *testing.T) {
	l := startLocal(t)
	l.plane.events = events(50)
	pages := elasticache.NewDescribeEventsPaginator(l.elasticache(), &elasticache.DescribeEventsInput{MaxRecords: aws.Int32(20)})
	var messages []string
	for n := uint64(51); pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			messages = append(messages, *e.Message)
		}
		l.plane.events = append([]control.Event{{Seq: n, Date: present, Message: "new"}}, l.plane.events...)
	}
	var want []string
	for _, e := range events(50) {
		want = append(want, e.Message)
	}
	same(t, "messages", messages, want)
}

func TestEventArrivesWithAllFields(t *testing.T) {
	l := startLocal(t)
	l.plane.events = []control.Event{{Seq: 1, Date: created.Add(2 * time.Hour), SourceID: "lb-0001-001", Source: "cache-cluster", Message: "Cache cluster created"}}
	out, err := l.elasticache().DescribeEvents(t.Context(), &elasticache.DescribeEventsInput{SourceIdentifier: aws.String("LB-0001-001"), SourceType: types.SourceTypeCacheCluster})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events", out.Events, []types.Event{{Date: aws.Time(created.Add(2 * time.Hour)), SourceIdentifier: aws.String("lb-0001-001"),
		SourceType: types.SourceTypeCacheCluster, Message: aws.String("Cache cluster created")}})
}

func TestEventWindowFollowsFromWhatIsGiven(t *testing.T) {
	at := func(hour int) *time.Time { return aws.Time(time.Date(2026, 11, 1, hour, 0, 0, 0, time.UTC)) }
	for _, row := range []struct {
		name     string
		in       elasticache.DescribeEventsInput
		from, to time.Time
	}{
		{"nothing: the last hour", elasticache.DescribeEventsInput{}, *at(11), time.Time{}},
		{"duration", elasticache.DescribeEventsInput{Duration: aws.Int32(120)}, *at(10), time.Time{}},
		{"start", elasticache.DescribeEventsInput{StartTime: at(3)}, *at(3), time.Time{}},
		{"start with fraction", elasticache.DescribeEventsInput{StartTime: aws.Time(created)}, created, time.Time{}},
		{"end", elasticache.DescribeEventsInput{EndTime: at(5)}, *at(4), *at(5)},
		{"start and end", elasticache.DescribeEventsInput{StartTime: at(3), EndTime: at(5)}, *at(3), *at(5)},
		{"start and duration", elasticache.DescribeEventsInput{StartTime: at(3), Duration: aws.Int32(60)}, *at(3), *at(4)},
		{"end and duration", elasticache.DescribeEventsInput{EndTime: at(5), Duration: aws.Int32(180)}, *at(2), *at(5)},
		{"older than kept", elasticache.DescribeEventsInput{Duration: aws.Int32(2000000)}, present.Add(-14 * 24 * time.Hour), time.Time{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			if _, err := l.elasticache().DescribeEvents(t.Context(), &row.in); err != nil {
				t.Fatal(err)
			}
			same(t, "filter", l.plane.asked, control.EventFilter{From: row.from, To: row.to})
		})
	}
}

func TestCallerIdentityIsLocal(t *testing.T) {
	out, err := startLocal(t).sts().GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil {
		t.Fatal(err)
	}
	if *out.Account != "000000000000" || *out.Arn != "arn:aws:iam::000000000000:user/local" || *out.UserId == "" {
		t.Errorf("%s %s %s", *out.Account, *out.Arn, *out.UserId)
	}
}

func changedShards() []types.ConfigureShard {
	return []types.ConfigureShard{{NodeGroupId: aws.String("0001"), NewReplicaCount: aws.Int32(2), PreferredAvailabilityZones: []string{"us-east-1a", "us-east-1b"}}}
}
