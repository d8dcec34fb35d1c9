package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	trailtypes "github.com/aws/aws-sdk-go-v2/service/cloudtrail/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	watchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// waits polls quickly.
func waits(o *elasticache.ReplicationGroupAvailableWaiterOptions) {
	o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
}

func awaitAvailable(t *testing.T, c *elasticache.Client, id string) {
	t.Helper()
	w := elasticache.NewReplicationGroupAvailableWaiter(c, waits)
	if err := w.Wait(t.Context(), &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: &id}, settles); err != nil {
		t.Fatal(err)
	}
}

func describe(t *testing.T, c *elasticache.Client, id string) types.ReplicationGroup {
	t.Helper()
	out, err := c.DescribeReplicationGroups(t.Context(), &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: &id})
	if err != nil {
		t.Fatal(err)
	}
	return out.ReplicationGroups[0]
}

// TestSDKFailsOverAndSeesTheEventsInAWSsOrder holds the events to the order and
// words of field reports; cluster mode enabled.
func TestSDKFailsOverAndSeesTheEventsInAWSsOrder(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	before := len(messages(t, c))
	out, err := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("lb"), NodeGroupId: aws.String("0001")})
	if err != nil {
		t.Fatal(err)
	}
	if s := aws.ToString(out.ReplicationGroup.Status); s != "available" {
		t.Errorf("status %s, want available, as AWS's sample has it", s)
	}
	_, err = c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("lb"), NodeGroupId: aws.String("0001")})
	if busy := new(types.InvalidReplicationGroupStateFault); !errors.As(err, &busy) {
		t.Errorf("a second call before recovery ends: %v", err)
	}
	awaitEvent(t, c, "Finished recovery")
	awaitIdle(t, c, "lb")
	want := []string{
		"lb: Test Failover API called for node group 0001",
		"lb: Failover to replica node lb-0001-002 completed",
		"lb-0001-001: Recovering cache nodes 0001",
		"lb-0001-001: Finished recovery for cache nodes 0001",
	}
	if got := messages(t, c)[before:]; !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(describe(t, c, "lb").NodeGroups[0].NodeGroupMembers); n != 2 {
		t.Errorf("%d members, want 2: no node is lost in the end", n)
	}
}

// TestSDKGetsAWSsRefusals covers what a drill can run into.
func TestSDKGetsAWSsRefusals(t *testing.T) {
	l := start(t, options(t, 1, 0, quick()))
	c := elastiCache(t, l)
	failover := func(group, nodeGroup string) error {
		_, err := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: &group, NodeGroupId: &nodeGroup})
		return err
	}
	create := func(in elasticache.CreateReplicationGroupInput) error {
		in.ReplicationGroupDescription = aws.String("refused")
		_, err := c.CreateReplicationGroup(t.Context(), &in)
		return err
	}
	for _, row := range []struct {
		name string
		err  error
		code string
	}{
		{"unknown group", failover("no", "0001"), "ReplicationGroupNotFoundFault"},
		{"unknown node group", failover("lb", "0002"), "NodeGroupNotFoundFault"},
		{"no replica", failover("lb", "0001"), "InvalidReplicationGroupState"},
		{"both kinds", increase(t, c, elasticache.IncreaseReplicaCountInput{ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(1),
			ReplicaConfiguration: []types.ConfigureShard{{NodeGroupId: aws.String("0001"), NewReplicaCount: aws.Int32(1)}}}), "InvalidParameterCombination"},
		{"not at once", increase(t, c, elasticache.IncreaseReplicaCountInput{ApplyImmediately: aws.Bool(false), NewReplicaCount: aws.Int32(1)}), "InvalidParameterValue"},
		{"no change", increase(t, c, elasticache.IncreaseReplicaCountInput{ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(0)}), "NoOperationFault"},
		{"six", increase(t, c, elasticache.IncreaseReplicaCountInput{ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(6)}), "InvalidParameterValue"},
		{"taken id", create(elasticache.CreateReplicationGroupInput{ReplicationGroupId: aws.String("lb")}), "ReplicationGroupAlreadyExists"},
		{"nodes with taken ids", create(elasticache.CreateReplicationGroupInput{ReplicationGroupId: aws.String("lb-0001")}), "InvalidParameterValue"},
		{"no port", create(elasticache.CreateReplicationGroupInput{ReplicationGroupId: aws.String("other"), Port: aws.Int32(70_000)}), "InvalidParameterValue"},
	} {
		var api smithy.APIError
		if !errors.As(row.err, &api) || api.ErrorCode() != row.code {
			t.Errorf("%s: %v, want %s", row.name, row.err, row.code)
		}
	}
}

func increase(t *testing.T, c *elasticache.Client, in elasticache.IncreaseReplicaCountInput) error {
	t.Helper()
	in.ReplicationGroupId = aws.String("lb")
	_, err := c.IncreaseReplicaCount(t.Context(), &in)
	return err
}

// TestSDKRunsIntoTheQuota of failovers.
func TestSDKRunsIntoTheQuota(t *testing.T) {
	o := options(t, 1, 0, quick())
	o.Control.FailoverQuota = 1
	l := start(t, o)
	c := elastiCache(t, l)
	if err := increase(t, c, elasticache.IncreaseReplicaCountInput{ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	awaitAvailable(t, c, "lb")
	awaitIdle(t, c, "lb")
	failOver(t, c, "lb")
	_, err := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("lb"), NodeGroupId: aws.String("0001")})
	if quota := new(types.APICallRateForCustomerExceededFault); !errors.As(err, &quota) {
		t.Errorf("the second failover of a quota of one: %v", err)
	}
}

// TestSDKRemovesNoPrimary: AWS accepts the call and refuses with an event.
func TestSDKRemovesNoPrimary(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	_, err := c.DecreaseReplicaCount(t.Context(), &elasticache.DecreaseReplicaCountInput{
		ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), ReplicasToRemove: []string{"lb-0001-001"},
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c, "Decrease Replica count operation failed because the request included deletion of one or more masters: lb-0001-001 for replication group lb")
	if n := len(describe(t, c, "lb").MemberClusters); n != 2 {
		t.Errorf("%d members, want 2", n)
	}
}

// TestSDKRunsSeveralGroupsSideBySide creates one of each kind, uses and deletes them.
func TestSDKRunsSeveralGroupsSideBySide(t *testing.T) {
	l := start(t, options(t, 1, 0, quick()))
	c := elastiCache(t, l)
	_, err := c.CreateReplicationGroup(t.Context(), &elasticache.CreateReplicationGroupInput{
		ReplicationGroupId: aws.String("plain"), ReplicationGroupDescription: aws.String("not clustered"),
		NumCacheClusters: aws.Int32(3), AutomaticFailoverEnabled: aws.Bool(true), CacheNodeType: aws.String("cache.r7g.large"),
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("ranking")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitAvailable(t, c, "plain")
	g := describe(t, c, "plain")
	if g.ConfigurationEndpoint != nil || g.NodeGroups[0].PrimaryEndpoint == nil || g.NodeGroups[0].ReaderEndpoint == nil {
		t.Errorf("endpoints of a group with cluster mode disabled: %+v", g)
	}
	if role := aws.ToString(g.NodeGroups[0].NodeGroupMembers[0].CurrentRole); role != "primary" {
		t.Errorf("role of %s is %q", aws.ToString(g.NodeGroups[0].NodeGroupMembers[0].CacheClusterId), role)
	}
	_, err = c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("plain"), NodeGroupId: aws.String("0001")})
	if refusal := new(types.InvalidReplicationGroupStateFault); !errors.As(err, &refusal) {
		t.Errorf("a failover without Multi-AZ: %v", err)
	}
	rebootReplica(t, c)
	if got := nodeIDs(t, c); got != "lb-0001-001 plain-001 plain-002 plain-003" {
		t.Errorf("nodes %s", got)
	}
	deleteGroup(t, c, "plain")
}

func nodeIDs(t *testing.T, c *elasticache.Client) string {
	t.Helper()
	var ids []string
	pages := elasticache.NewDescribeCacheClustersPaginator(c, &elasticache.DescribeCacheClustersInput{MaxRecords: aws.Int32(20)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.CacheClusters {
			ids = append(ids, aws.ToString(n.CacheClusterId))
		}
	}
	return strings.Join(ids, " ")
}

func deleteGroup(t *testing.T, c *elasticache.Client, id string) {
	t.Helper()
	if _, err := c.DeleteReplicationGroup(t.Context(), &elasticache.DeleteReplicationGroupInput{ReplicationGroupId: &id}); err != nil {
		t.Fatal(err)
	}
	w := elasticache.NewReplicationGroupDeletedWaiter(c, func(o *elasticache.ReplicationGroupDeletedWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := w.Wait(t.Context(), &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: &id}, settles); err != nil {
		t.Error(err)
	}
}

// rebootReplica reboots a node where that is possible, and tries where it is not.
func rebootReplica(t *testing.T, c *elasticache.Client) {
	t.Helper()
	reboot := func(id string) error {
		_, err := c.RebootCacheCluster(t.Context(), &elasticache.RebootCacheClusterInput{
			CacheClusterId: &id, CacheNodeIdsToReboot: []string{"0001"},
		})
		return err
	}
	if refusal := new(types.InvalidCacheClusterStateFault); !errors.As(reboot("lb-0001-001"), &refusal) {
		t.Error("a node with cluster mode enabled was rebooted")
	}
	if err := reboot("plain-002"); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c, "Cache node 0001 restarted")
	awaitIdle(t, c, "plain")
}

// TestSDKReadsMetricsAndCalls goes through CloudWatch (CBOR), CloudTrail and STS.
func TestSDKReadsMetricsAndCalls(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	config := sdk(t, l)
	watch, trail := cloudwatch.NewFromConfig(config), cloudtrail.NewFromConfig(config)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	// Counters count from a node's first sample on.
	eventually(t, settles, func() error { return wantSum(t.Context(), watch, 0) })
	for range 100 {
		if err := rdb.ZIncrBy(t.Context(), "board", 1, "m").Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, settles, func() error { return wantSum(t.Context(), watch, 100) })
	wantAllMetrics(t, watch)
	if _, err := elastiCache(t, l).AddTagsToResource(t.Context(), &elasticache.AddTagsToResourceInput{
		ResourceName: describe(t, elastiCache(t, l), "lb").ARN, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}); err != nil {
		t.Fatal(err)
	}
	calls, err := trail.LookupEvents(t.Context(), &cloudtrail.LookupEventsInput{LookupAttributes: []trailtypes.LookupAttribute{
		{AttributeKey: trailtypes.LookupAttributeKeyEventName, AttributeValue: aws.String("AddTagsToResource")}}})
	if err != nil || len(calls.Events) != 1 {
		t.Errorf("calls: %+v (%v)", calls, err)
	}
	who, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || aws.ToString(who.Account) != "000000000000" {
		t.Errorf("identity: %+v (%v)", who, err)
	}
}

// wantAllMetrics wants those that a drill looks at to be listed.
func wantAllMetrics(t *testing.T, watch *cloudwatch.Client) {
	t.Helper()
	pages := cloudwatch.NewListMetricsPaginator(watch, &cloudwatch.ListMetricsInput{Namespace: aws.String("AWS/ElastiCache")})
	names := map[string]bool{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Metrics {
			names[aws.ToString(m.MetricName)] = true
		}
	}
	for name := range strings.FieldsSeq("EngineCPUUtilization NetworkBytesIn NetworkBytesOut GetTypeCmds SetTypeCmds SortedSetBasedCmds CacheHits CacheMisses " +
		"ReplicationLag ReplicationBytes MasterLinkHealthStatus IsMaster CurrConnections NewConnections Evictions") {
		if !names[name] {
			t.Errorf("no metric %s", name)
		}
	}
}

// wantSum wants the primary's commands on sorted sets to add up.
func wantSum(ctx context.Context, c *cloudwatch.Client, want float64) error {
	out, err := c.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(time.Now().Add(-5 * time.Minute)), EndTime: aws.Time(time.Now().Add(time.Minute)),
		MetricDataQueries: []watchtypes.MetricDataQuery{{Id: aws.String("m"), MetricStat: &watchtypes.MetricStat{
			Period: aws.Int32(1), Stat: aws.String("Sum"), Metric: &watchtypes.Metric{
				Namespace: aws.String("AWS/ElastiCache"), MetricName: aws.String("SortedSetBasedCmds"),
				Dimensions: []watchtypes.Dimension{{Name: aws.String("CacheClusterId"), Value: aws.String("lb-0001-001")}},
			},
		}}},
	})
	if err != nil {
		return err
	}
	if len(out.MetricDataResults[0].Values) == 0 {
		return errors.New("no sample yet")
	}
	sum := 0.0
	for _, v := range out.MetricDataResults[0].Values {
		sum += v
	}
	if sum != want {
		return fmt.Errorf("%v commands on sorted sets, want %v", sum, want)
	}
	return nil
}
