package local_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/redis/go-redis/v9"
)

// pulse is a writer and a reader that go on until they are stopped, and note
// every success and every error.
type pulse struct {
	rdb    redis.UniversalClient
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu                sync.Mutex
	writes, reads     int
	writeErr, readErr []error
	lastWrite         time.Time
	gap               time.Duration // the longest time between two writes that went well
}

func beat(t *testing.T, rdb redis.UniversalClient) *pulse {
	t.Helper()
	p := &pulse{rdb: rdb, lastWrite: time.Now()}
	if err := rdb.Set(t.Context(), "pulse", 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	p.wg.Go(func() { p.loop(ctx, p.write) })
	p.wg.Go(func() { p.loop(ctx, p.read) })
	t.Cleanup(p.stop)
	return p
}

// loop does one thing 500 times a second.
func (p *pulse) loop(ctx context.Context, do func(context.Context)) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

func (p *pulse) write(ctx context.Context) {
	err := p.rdb.Incr(ctx, "pulse").Err()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := time.Now(); {
	case ctx.Err() != nil:
	case err != nil:
		p.writeErr = append(p.writeErr, err)
	default:
		p.gap = max(p.gap, now.Sub(p.lastWrite))
		p.lastWrite = now
		p.writes++
	}
}

func (p *pulse) read(ctx context.Context) {
	err := p.rdb.Get(ctx, "pulse").Err()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.readErr = append(p.readErr, err)
	default:
		p.reads++
	}
}

func (p *pulse) stop() {
	p.cancel()
	p.wg.Wait()
}

// TestFailoverInterruptsWritesForTheConfiguredTime: the gap is the time from
// the primary's death to the promotion, and what the client needs to notice.
func TestFailoverInterruptsWritesForTheConfiguredTime(t *testing.T) {
	const configured = 1500 * time.Millisecond
	timings := quick()
	timings["failover"] = configured
	l := start(t, options(t, 1, 2, timings))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	p := beat(t, rdb)
	stall := stalls(t)
	failOver(t, c, "lb")
	p.stop()
	// Never shorter: nobody else promotes. Longer by what a client needs to learn
	// of it: a reload of the topology, retries and their pauses; and on a crowded
	// machine each of a dozen steps may wait as long as a timer did.
	most := configured + 2500*time.Millisecond + 12*stall()
	if p.gap < configured-50*time.Millisecond || p.gap > most {
		t.Errorf("writes were interrupted for %v, want %v and a little, %v at most", p.gap, configured, most)
	}
	t.Logf("writes interrupted for %v, %d write errors, %d read errors", p.gap, len(p.writeErr), len(p.readErr))
	if nodes := stateOf(t, l).Nodes; len(nodes) != 3 || nodes[0].PID == 0 || nodes[1].PID == 0 || nodes[2].PID == 0 {
		t.Errorf("nodes afterwards: %+v", nodes)
	}
}

// stalls watches how late a timer of 10 ms is at most, until the function that it
// returns is called.
func stalls(t *testing.T) func() time.Duration {
	t.Helper()
	const every = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		var late time.Duration
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-tick.C:
				late = max(late, time.Since(last)-every)
			case <-ctx.Done():
				longest <- late
				return
			}
		}
	}()
	return func() time.Duration {
		cancel()
		return <-longest
	}
}

func failOver(t *testing.T, c *elasticache.Client, group string) {
	t.Helper()
	before := countEvents(t, c, "Finished recovery")
	testFailover(t, c, group)
	eventually(t, settles, func() error {
		if countEvents(t, c, "Finished recovery") == before {
			return errors.New("the recovery has not finished")
		}
		return nil
	})
	awaitIdle(t, c, group)
}

func countEvents(t *testing.T, c *elasticache.Client, text string) (n int) {
	t.Helper()
	for _, m := range messages(t, c) {
		if strings.Contains(m, text) {
			n++
		}
	}
	return n
}

// testFailover returns when the call does.
func testFailover(t *testing.T, c *elasticache.Client, group string) {
	t.Helper()
	_, err := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: &group, NodeGroupId: aws.String("0001")})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHungPrimaryIsSucceededAndReplaced: a process that hangs, not one that is gone.
func TestHungPrimaryIsSucceededAndReplaced(t *testing.T) {
	timings := quick()
	timings["failover"] = 2 * time.Second // in which the process is looked at
	o := options(t, 2, 1, timings)
	o.Control.Style = "hang"
	l := start(t, o)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before, pid, c := fill(t, rdb), pidOf(t, l, "lb-0001-001"), elastiCache(t, l)
	testFailover(t, c, "lb")
	eventually(t, settles, func() error {
		if out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output(); err != nil || !strings.HasPrefix(string(out), "T") {
			return fmt.Errorf("the process of the primary is %q, not stopped: %w", out, errors.Join(err))
		}
		return nil
	})
	awaitEvent(t, c, "Finished recovery")
	awaitIdle(t, c, "lb")
	eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
}

// TestReplicasComeAndGoWithoutAnError, as in field report A, cases 6 and 7.
func TestReplicasComeAndGoWithoutAnError(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	p := beat(t, rdb)
	count := func(n int32) {
		t.Helper()
		var err error
		if n > 1 {
			_, err = c.IncreaseReplicaCount(t.Context(), &elasticache.IncreaseReplicaCountInput{
				ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NewReplicaCount: &n})
		} else {
			_, err = c.DecreaseReplicaCount(t.Context(), &elasticache.DecreaseReplicaCountInput{
				ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NewReplicaCount: &n})
		}
		if err != nil {
			t.Fatal(err)
		}
		awaitIdle(t, c, "lb")
		if got := len(describe(t, c, "lb").NodeGroups[0].NodeGroupMembers); got != int(n)+1 {
			t.Errorf("%d members, want %d", got, n+1)
		}
	}
	count(3)
	count(1)
	p.stop()
	if err := errors.Join(append(p.writeErr, p.readErr...)...); err != nil {
		t.Errorf("of %d writes and %d reads, %d and %d failed: %v", p.writes, p.reads, len(p.writeErr), len(p.readErr), err)
	}
	checkReplicaEvents(t, c)
}

// checkReplicaEvents looks for the words of field report A.
func checkReplicaEvents(t *testing.T, c *elasticache.Client) {
	t.Helper()
	for _, text := range []string{
		"lb: Increase replica count started for replication group lb on 20",
		"lb-0001-003: Cache cluster created",
		"lb-0001-003: This cache cluster does not support persistence (ex: 'appendonly'). Please use a different instance type to enable persistence.",
		"lb-0001-004: Added cache node 0001 in availability zone us-east-1",
		"lb: Increase replica count completed for replication group lb on 20",
		"lb: Decrease Replica count request approved and started for replication group lb on 20",
		"lb: Decrease Replica count operation completed for replication group lb on 20",
	} {
		awaitEvent(t, c, text)
	}
}

// TestShardsComeAndGoAndNoKeyIsLost goes from one shard to two and back under load.
func TestShardsComeAndGoAndNoKeyIsLost(t *testing.T) {
	l := start(t, options(t, 1, 1, quick()))
	c := elastiCache(t, l)
	rdb := client(stateOf(t, l).Addrs())
	defer rdb.Close()
	before := fill(t, rdb)
	p := beat(t, rdb)
	shards := func(n int32, remove ...string) {
		t.Helper()
		_, err := c.ModifyReplicationGroupShardConfiguration(t.Context(), &elasticache.ModifyReplicationGroupShardConfigurationInput{
			ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true), NodeGroupCount: &n, NodeGroupsToRemove: remove})
		if err != nil {
			t.Fatal(err)
		}
		awaitIdle(t, c, "lb")
		if got := len(describe(t, c, "lb").NodeGroups); got != int(n) {
			t.Errorf("%d shards, want %d", got, n)
		}
		eventually(t, settles, func() error { return same(t.Context(), rdb, before) })
	}
	shards(2)
	shards(1, "0002")
	p.stop()
	for _, text := range []string{
		"Moved a total of 8192 slots out of 8192 slots from shard 0001 to shard 0002",
		"Moved a total of 8192 slots out of 8192 slots from shard 0002 to shard 0001",
	} {
		awaitEvent(t, c, text)
	}
	if err := errors.Join(p.writeErr...); err != nil {
		t.Errorf("%d of %d writes failed: %v", len(p.writeErr), p.writes+len(p.writeErr), err)
	}
	n, err := rdb.Get(t.Context(), "pulse").Int()
	if err != nil || n != p.writes && n != p.writes+1 { // +1: the one under way at the end
		t.Errorf("the counter stands at %d (%v) after %d acknowledged writes", n, err, p.writes)
	}
}

// contents are how many keys there are, and a checksum over them and their values.
type contents struct {
	keys int
	sum  uint64
}

const filling = 2000

// fill writes keys all over the slots.
func fill(t *testing.T, rdb *redis.ClusterClient) contents {
	t.Helper()
	pipe := rdb.Pipeline()
	for i := range filling {
		pipe.Set(t.Context(), fmt.Sprintf("key:%d", i), fmt.Sprintf("value %d", i*i), 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, settles, func() error { // the failover is asynchronous: let the replicas have it all
		return rdb.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			if n, err := node.Wait(ctx, 1, time.Second).Result(); err != nil || n < 1 {
				return fmt.Errorf("%d replicas have it: %w", n, errors.Join(err, errors.New("want 1")))
			}
			return nil
		})
	})
	all, err := read(t.Context(), rdb)
	if err != nil || all.keys != filling {
		t.Fatalf("filled %+v: %v", all, err)
	}
	return all
}

// read reads everything that fill has written, from the primaries.
func read(ctx context.Context, rdb *redis.ClusterClient) (contents, error) {
	var mu sync.Mutex
	var all contents
	err := rdb.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, "key:*", 500).Iterator()
		for keys.Next(ctx) {
			value, err := node.Get(ctx, keys.Val()).Result()
			if err != nil {
				return err
			}
			h := fnv.New64a()
			fmt.Fprintf(h, "%s=%s", keys.Val(), value)
			mu.Lock()
			all.keys++
			all.sum += h.Sum64() // order does not matter
			mu.Unlock()
		}
		return keys.Err()
	})
	return all, err
}

func same(ctx context.Context, rdb *redis.ClusterClient, want contents) error {
	got, err := read(ctx, rdb)
	if err == nil && got != want {
		err = fmt.Errorf("it holds %+v, not %+v", got, want)
	}
	return err
}
