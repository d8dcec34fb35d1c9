package local_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/state"
)

// resolver asks the local ElastiCache's DNS server.
func resolver(s state.State) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Resolver)
	}}
}

func lookUp(t *testing.T, s state.State, endpoint string) []string {
	t.Helper()
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := resolver(s).LookupHost(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(addrs)
	return addrs
}

// throughNames is a driver that resolves names with the local DNS server.
func throughNames(s state.State, endpoint string) *redis.Client {
	dialer := &net.Dialer{Timeout: time.Second, Resolver: resolver(s)}
	return redis.NewClient(&redis.Options{
		Addr: endpoint, ReadTimeout: time.Second, WriteTimeout: time.Second, DisableIdentity: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		},
	})
}

// TestFailoverMovesTheName: with cluster mode disabled a failover is a changed A record.
func TestFailoverMovesTheName(t *testing.T) {
	o := options(t, 1, 2, quick())
	o.Group.ClusterMode = "disabled"
	l := start(t, o)
	s, c := stateOf(t, l), elastiCache(t, l)
	before, readers := lookUp(t, s, s.Primary), lookUp(t, s, s.Reader)
	if len(before) != 1 || len(readers) != 2 || slices.Contains(readers, before[0]) {
		t.Fatalf("primary %v, readers %v", before, readers)
	}
	rdb := throughNames(s, s.Primary)
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "who", "first", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := rdb.Wait(t.Context(), 2, 5*time.Second).Result(); err != nil || n != 2 {
		t.Fatalf("%d replicas have it: %v", n, err)
	}
	failOver(t, c, "lb")
	after := lookUp(t, s, s.Primary)
	if len(after) != 1 || after[0] == before[0] || !slices.Contains(readers, after[0]) {
		t.Errorf("the primary's name leads to %v, was %v, replicas were %v", after, before, readers)
	}
	if got := lookUp(t, s, s.Reader); len(got) != 2 || !slices.Contains(got, before[0]) {
		t.Errorf("the reader's name leads to %v, want the replaced node %v among them", got, before)
	}
	if got, err := rdb.Get(t.Context(), "who").Result(); err != nil || got != "first" {
		t.Errorf("after the failover: %q (%v)", got, err)
	}
	if err := rdb.Set(t.Context(), "who", "second", 0).Err(); err != nil {
		t.Error(err)
	}
	checkRoles(t, c, s)
	replaceFirstNode(t, c)
}

// replaceFirstNode removes lb-001 and adds it again: the endpoints have their port
// also while it is being created.
func replaceFirstNode(t *testing.T, c *elasticache.Client) {
	t.Helper()
	_, err := c.DecreaseReplicaCount(t.Context(), &elasticache.DecreaseReplicaCountInput{
		ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), ReplicasToRemove: []string{"lb-001"}})
	if err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c, "Decrease Replica count operation completed")
	awaitIdle(t, c, "lb")
	out, err := c.IncreaseReplicaCount(t.Context(), &elasticache.IncreaseReplicaCountInput{
		ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(2)})
	if err != nil {
		t.Fatal(err)
	}
	shard := out.ReplicationGroup.NodeGroups[0]
	if p, r := aws.ToInt32(shard.PrimaryEndpoint.Port), aws.ToInt32(shard.ReaderEndpoint.Port); p == 0 || r != p {
		t.Errorf("the ports of the endpoints are %d and %d", p, r)
	}
	awaitEvent(t, c, "Increase replica count completed")
	awaitIdle(t, c, "lb")
}

// TestRebootedPrimaryIsNotFailedOver: it comes back as the primary, and empty.
func TestRebootedPrimaryIsNotFailedOver(t *testing.T) {
	o := options(t, 1, 1, quick())
	o.Group.ClusterMode = "disabled"
	l := start(t, o)
	s, c := stateOf(t, l), elastiCache(t, l)
	rdb := throughNames(s, s.Primary)
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "who", "first", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := c.RebootCacheCluster(t.Context(), &elasticache.RebootCacheClusterInput{
		CacheClusterId: aws.String("lb-001"), CacheNodeIdsToReboot: []string{"0001"}})
	if err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c, "lb-001: Cache node 0001 restarted")
	awaitIdle(t, c, "lb")
	if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("the primary has %d keys (%v)", n, err)
	}
	if err := rdb.Set(t.Context(), "who", "second", 0).Err(); err != nil {
		t.Error(err)
	}
	if n, err := rdb.Wait(t.Context(), 1, 10*time.Second).Result(); err != nil || n != 1 {
		t.Errorf("%d replicas follow it (%v)", n, err)
	}
	if n := countEvents(t, c, "Failover"); n != 0 {
		t.Errorf("%d events of a failover", n)
	}
}

// checkRoles holds Describe to the truth, and the events to the words of case 1.
func checkRoles(t *testing.T, c *elasticache.Client, s state.State) {
	t.Helper()
	roles := map[string]int{}
	for _, m := range describe(t, c, "lb").NodeGroups[0].NodeGroupMembers {
		rdb := throughNames(s, fmt.Sprintf("%s:%d", aws.ToString(m.ReadEndpoint.Address), aws.ToInt32(m.ReadEndpoint.Port)))
		defer rdb.Close()
		reply, err := rdb.Do(t.Context(), "role").Slice()
		if err != nil {
			t.Fatal(err)
		}
		roles[aws.ToString(m.CurrentRole)+" is "+fmt.Sprint(reply[0])]++
	}
	if roles["primary is master"] != 1 || roles["replica is slave"] != 2 {
		t.Errorf("roles: %v", roles)
	}
	var completed int
	for _, m := range messages(t, c) {
		if m == "lb: Failover from master node lb-001 to replica node lb-002 completed" ||
			m == "lb-001: Failover from master node lb-001 to replica node lb-002 completed" ||
			m == "lb: Failover from master node lb-001 to replica node lb-003 completed" ||
			m == "lb-001: Failover from master node lb-001 to replica node lb-003 completed" {
			completed++
		}
	}
	if completed != 2 {
		t.Errorf("the failover's event came %d times, want 2 as field reports have it", completed)
	}
}
