package local_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/control"
)

// Nodes that die or hang at a bad moment: the group comes back, and says so.

func killPID(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

func pidOf(t *testing.T, l *local.Local, id string) int {
	t.Helper()
	for _, n := range stateOf(t, l).Nodes {
		if n.ID == id && n.PID > 0 {
			return n.PID
		}
	}
	t.Fatalf("no node %s runs", id)
	return 0
}

func kill(t *testing.T, l *local.Local, id string) {
	t.Helper()
	if err := killPID(pidOf(t, l, id)); err != nil {
		t.Fatal(err)
	}
}

// TestNodeKilledFromOutsideIsReplaced: what ElastiCache does when a host fails.
func TestNodeKilledFromOutsideIsReplaced(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before := fill(t, rdb)
	kill(t, l, "lb-0001-001")
	awaitEvent(t, c, "Failover to replica node lb-0001-002 completed")
	awaitEvent(t, c, "lb-0001-001: Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
}

// TestShardKilledFromOutsideComesBackEmpty: where nobody is left to take over,
// the data is lost, but not the group.
func TestShardKilledFromOutsideComesBackEmpty(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	fill(t, rdb)
	kill(t, l, "lb-0001-002")
	kill(t, l, "lb-0001-001")
	_, err := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: aws.String("lb"), NodeGroupId: aws.String("0009")})
	if unknown := new(types.NodeGroupNotFoundFault); !errors.As(err, &unknown) {
		t.Errorf("a call while no node answers: %v", err)
	}
	comesBackEmpty(t, c, rdb)
}

// TestFailoverFindsNobodyLeft: the only replica dies before it is promoted.
func TestFailoverFindsNobodyLeft(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	fill(t, rdb)
	pid := pidOf(t, l, "lb-0001-001")
	testFailover(t, c, "lb")
	eventually(t, settles, func() error { return wantGone(pid) })
	kill(t, l, "lb-0001-002")
	comesBackEmpty(t, c, rdb)
}

func wantGone(pid int) error {
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return errors.New("the process is still there")
	}
	return nil
}

func comesBackEmpty(t *testing.T, c *elasticache.Client, rdb *redis.ClusterClient) {
	t.Helper()
	awaitEvent(t, c, "lb-0001-001: Finished recovery for cache nodes 0001")
	awaitEvent(t, c, "lb-0001-002: Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, contents{}) })
	// A primary that has started again takes writes once it has heard the others.
	eventually(t, settles, func() error { return rdb.Set(t.Context(), "key:0", "", 0).Err() })
	fill(t, rdb) // and its replica has it
}

// TestRecoveryThatFailsIsTriedAgain: the new primary hangs when the old one's
// place is to be taken.
func TestRecoveryThatFailsIsTriedAgain(t *testing.T) {
	timings := quick()
	timings["rejoin"] = 2 * time.Second
	o := options(t, 1, 1, timings)
	log := &memo{logger: logger{t}}
	o.Log = log
	l := start(t, o)
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before := fill(t, rdb)
	testFailover(t, c, "lb")
	awaitEvent(t, c, "Failover to replica node lb-0001-002 completed")
	promoted := pidOf(t, l, "lb-0001-002")
	if err := syscall.Kill(promoted, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, settles, func() error { return log.want("failed: replace lb-0001-001") })
	if err := syscall.Kill(promoted, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c, "lb-0001-001: Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
}

// TestPrimaryDiesWhileItsGroupIsBusy: Redis elects its successor meanwhile.
func TestPrimaryDiesWhileItsGroupIsBusy(t *testing.T) {
	timings := quick()
	timings["recovery"] = 8 * time.Second
	o := options(t, 3, 1, timings)
	log := &memo{logger: logger{t}}
	o.Log = log
	l := start(t, o)
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before := fill(t, rdb)
	testFailover(t, c, "lb")
	awaitEvent(t, c, "Failover to replica node lb-0001-002 completed")
	kill(t, l, "lb-0002-001")
	awaitEvent(t, c, "Failover to replica node lb-0002-002 completed")
	awaitEvent(t, c, "lb-0002-001: Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
	if log.want("data is lost") == nil {
		t.Error("it says that data is lost")
	}
}

// TestLastCopyIsNotRemoved: a primary dies while replicas are being removed.
func TestLastCopyIsNotRemoved(t *testing.T) {
	l := start(t, options(t, 2, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before := fill(t, rdb)
	_, err := c.DecreaseReplicaCount(t.Context(), &elasticache.DecreaseReplicaCountInput{
		ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NewReplicaCount: aws.Int32(0)})
	if err != nil {
		t.Fatal(err)
	}
	kill(t, l, "lb-0002-001") // while the first shard's replica is drained, for a second at least
	awaitEvent(t, c, "lb: Decrease Replica count operation failed for replication group lb on ")
	awaitEvent(t, c, "Failover to replica node lb-0002-002 completed")
	awaitEvent(t, c, "lb-0002-001: Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
	if got := strings.Join(describe(t, c, "lb").MemberClusters, " "); got != "lb-0001-001 lb-0002-001 lb-0002-002" {
		t.Errorf("nodes %s", got)
	}
}

// TestNodeDiesWhileItsGroupIsCreated: before anybody has been told of it.
func TestNodeDiesWhileItsGroupIsCreated(t *testing.T) {
	timings := quick()
	timings["create"] = 10 * time.Second
	l := start(t, options(t, 1, 0, timings))
	c := elastiCache(t, l)
	ours := servers(t)
	_, err := c.CreateReplicationGroup(t.Context(), &elasticache.CreateReplicationGroupInput{
		ReplicationGroupId: aws.String("cc"), ReplicationGroupDescription: aws.String("dies"), CacheParameterGroupName: aws.String("default.redis7.cluster.on"),
		NumNodeGroups: aws.Int32(1), ReplicasPerNodeGroup: aws.Int32(1), AutomaticFailoverEnabled: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, settles, func() error { return killOneThatIsUp(t, ours) })
	awaitAvailable(t, c, "cc")
	awaitEvent(t, c, "Finished recovery for cache nodes 0001")
	awaitIdle(t, c, "cc")
	for _, n := range stateOf(t, l).Nodes {
		if n.PID == 0 {
			t.Errorf("%s does not run", n.ID)
		}
	}
}

// killOneThatIsUp ends a node that is not among known, once it is a replica that
// has everything: until its group is a cluster, the end of one ends the creation.
func killOneThatIsUp(t *testing.T, known map[int]string) error {
	t.Helper()
	for pid, addr := range servers(t) {
		if _, ok := known[pid]; ok {
			continue
		}
		rdb := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		info, err := rdb.Info(t.Context(), "replication").Result()
		state := rdb.ClusterInfo(t.Context()).Val()
		rdb.Close()
		if err == nil && strings.Contains(info, "master_link_status:up") && strings.Contains(state, "cluster_state:ok") {
			time.AfterFunc(2*time.Second, func() { _ = killPID(pid) }) // when all have seen it
			return nil
		}
	}
	return errors.New("no replica of the new group is up")
}

// servers lists the redis-servers that this process has started, with their addresses.
func servers(t *testing.T) map[int]string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	addrs := map[int]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // pid, parent, redis-server, its configuration
		if len(f) < 4 || f[1] != strconv.Itoa(os.Getpid()) || !strings.Contains(f[2], "-server") || f[3] == "--version" {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatal(err)
		}
		conf, err := os.ReadFile(f[3])
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut("\n"+string(conf), "\nport ")
		port, _, _ = strings.Cut(port, "\n")
		addrs[pid] = net.JoinHostPort("127.0.0.1", strings.Trim(port, `"`))
	}
	return addrs
}

// TestFailoverInTheWordsOfTheReference: with the group shown as modifying.
func TestFailoverInTheWordsOfTheReference(t *testing.T) {
	o := options(t, 1, 1, quick())
	o.Control.Wording, o.Control.FailoverStatus = control.Documented, control.Modifying
	l := start(t, o)
	c := elastiCache(t, l)
	testFailover(t, c, "lb")
	if status := aws.ToString(describe(t, c, "lb").Status); status != "modifying" {
		t.Errorf("the group is %s", status)
	}
	awaitEvent(t, c, "lb-0001-001: Failover from primary node lb-0001-001 to replica node lb-0001-002 completed")
	awaitEvent(t, c, "lb: Failover from primary node lb-0001-001 to replica node lb-0001-002 completed")
	awaitIdle(t, c, "lb")
}
