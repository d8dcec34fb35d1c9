package aws_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/control"
)

func TestAGroupIsDescribedAndChangedInEveryWay(t *testing.T) {
	l := up(t, localOptions(t, 1, 1, "enabled"))
	log := &audit{}
	c := open(t, log.options(l.URL()))
	wantPlace(t, c, l)
	wantDescription(t, c)
	wantRefusals(t, c)
	began := time.Now().Add(-time.Second)

	failOver(t, c, began)
	resize(t, c)
	refusePrimary(t, c)
	reshard(t, c)

	if offset, within, ok := c.Skew(); !ok || offset.Abs() > within || within > time.Second {
		t.Errorf("our own clock is off by %v ± %v (%v)", offset, within, ok)
	}
	wantTrail(t, c, log, began)
}

func wantPlace(t *testing.T, c *aws.Client, l *local.Local) {
	t.Helper()
	got, err := c.Place(t.Context())
	want := aws.Place{Endpoint: l.URL(), Loopback: true, Region: "us-east-1", Account: "000000000000", ARN: "arn:aws:iam::000000000000:user/local"}
	if err != nil || got != want {
		t.Errorf("place %+v (%v)", got, err)
	}
}

func wantDescription(t *testing.T, c *aws.Client) {
	t.Helper()
	g := awaitAvailable(t, c, "lb")
	if g.Description != "a test" || g.NodeType != "cache.r7g.large" || !g.ClusterEnabled || g.AutomaticFailover != "enabled" || g.MultiAZ != "enabled" ||
		g.Configuration == "" || g.Resharding != nil || len(g.Pending) != 0 || g.EngineVersion == "" {
		t.Errorf("group %+v", g)
	}
	if len(g.Shards) != 1 || g.Shards[0].Slots != "0-16383" || len(g.Shards[0].Members) != 2 || g.Shards[0].Primary != "" {
		t.Fatalf("shards %+v", g.Shards)
	}
	for i, m := range g.Members() {
		if m.ID != fmt.Sprintf("lb-0001-00%d", i+1) || m.Role != "" || m.Zone == "" || !strings.HasPrefix(m.Addr, "127.") || m.Created.IsZero() || !m.Listed {
			t.Errorf("member %+v", m)
		}
	}
	tags, err := c.Tags(t.Context(), g.ARN)
	if err != nil || tags["team"] != "ranking" {
		t.Errorf("tags %v (%v)", tags, err)
	}
}

func wantRefusals(t *testing.T, c *aws.Client) {
	t.Helper()
	one, six := 1, 6
	for code, do := range map[string]func() (aws.Call, error){
		"ReplicationGroupNotFoundFault": func() (aws.Call, error) { return c.TestFailover(t.Context(), "no", "0001") },
		"NodeGroupNotFoundFault":        func() (aws.Call, error) { return c.TestFailover(t.Context(), "lb", "0009") },
		"NoOperationFault":              func() (aws.Call, error) { return c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{Count: &one}) },
		"InvalidParameterValue":         func() (aws.Call, error) { return c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{Count: &six}) },
		"InvalidReplicationGroupState":  func() (aws.Call, error) { return c.ModifyShards(t.Context(), "lb", aws.ShardChange{Count: 1}) },
		"InvalidCacheClusterState":      func() (aws.Call, error) { return c.Reboot(t.Context(), "lb-0001-002") },
		"CacheClusterNotFound":          func() (aws.Call, error) { return c.Reboot(t.Context(), "no-001") },
	} {
		call, err := do()
		var doubt *aws.Ambiguous
		if aws.Code(err) != code || fail.HintOf(err) == "" || errors.As(err, &doubt) || call.Err == "" {
			t.Errorf("%s: %v (hint %q)", code, err, fail.HintOf(err))
		}
		if call.RequestID == "" {
			t.Errorf("%s: no request id", code)
		}
	}
}

// confirmed wants traces of a call.
func confirmed(t *testing.T, c *aws.Client, call aws.Call) {
	t.Helper()
	if yes, err := c.Confirm(t.Context(), call); !yes || err != nil {
		t.Errorf("%s: confirmed %v (%v)", call.Name, yes, err)
	}
}

func failOver(t *testing.T, c *aws.Client, began time.Time) {
	t.Helper()
	call, err := c.TestFailover(t.Context(), "lb", "0001")
	if err != nil || call.RequestID == "" || call.Err != "" {
		t.Fatalf("%+v (%v)", call, err)
	}
	confirmed(t, c, call)
	if f := awaitFact(t, c, began, aws.FailoverCalled); f.Group != "lb" || f.Shard != "0001" {
		t.Errorf("%+v", f)
	}
	if f := awaitFact(t, c, began, aws.FailedOver); f.To != "lb-0001-002" {
		t.Errorf("%+v", f)
	}
	if f := awaitFact(t, c, began, aws.RecoveryStarted); f.Node != "lb-0001-001" {
		t.Errorf("%+v", f)
	}
	awaitFact(t, c, began, aws.RecoveryFinished)
	awaitAvailable(t, c, "lb")
	if n, err := c.FailoversWithin(t.Context(), time.Hour); n != 1 || err != nil {
		t.Errorf("%d failovers (%v)", n, err)
	}
	call.At = time.Now().Add(3 * time.Second) // a later one has not happened
	if yes, err := c.Confirm(t.Context(), call); yes || err != nil {
		t.Errorf("confirmed before it was made (%v)", err)
	}
}

func resize(t *testing.T, c *aws.Client) {
	t.Helper()
	began := time.Now().Add(-time.Second)
	two := 2
	call, err := c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{Count: &two})
	if err != nil {
		t.Fatal(err)
	}
	confirmed(t, c, call)
	if g, err := c.Group(t.Context(), "lb"); err != nil || g.Available() == nil {
		t.Errorf("available with a replica on its way: %+v (%v)", g, err)
	}
	if f := awaitFact(t, c, began, aws.NodeAdded); f.Node != "lb-0001-003" || f.Zone == "" {
		t.Errorf("%+v", f)
	}
	awaitFact(t, c, began, aws.ReplicasIncreased)
	awaitAvailable(t, c, "lb")
	if call, err = c.DecreaseReplicas(t.Context(), "lb", aws.Replicas{Remove: []string{"lb-0001-003"}}); err != nil {
		t.Fatal(err)
	}
	confirmed(t, c, call)
	awaitFact(t, c, began, aws.ReplicasDecreased)
	if g := awaitAvailable(t, c, "lb"); len(g.Members()) != 2 {
		t.Errorf("members %+v", g.Members())
	}
}

// refusePrimary: after the failover 002 is the primary.
func refusePrimary(t *testing.T, c *aws.Client) {
	t.Helper()
	began := time.Now().Add(-time.Second)
	call, err := c.DecreaseReplicas(t.Context(), "lb", aws.Replicas{Remove: []string{"lb-0001-002"}})
	if err != nil {
		t.Fatal(err)
	}
	if f := awaitFact(t, c, began, aws.DecreaseRefused); f.Node != "lb-0001-002" || f.Group != "lb" {
		t.Errorf("%+v", f)
	}
	call.At = time.Now().Add(-500 * time.Millisecond)
	if yes, err := c.Confirm(t.Context(), call); yes || err != nil {
		t.Errorf("a refused call is confirmed (%v)", err)
	}
}

func reshard(t *testing.T, c *aws.Client) {
	t.Helper()
	began := time.Now().Add(-time.Second)
	call, err := c.ModifyShards(t.Context(), "lb", aws.ShardChange{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	confirmed(t, c, call)
	if f := awaitFact(t, c, began, aws.SlotsMoved); f.From != "0001" || f.To != "0002" || f.Slots != 8192 || f.Of != 8192 {
		t.Errorf("%+v", f)
	}
	g := awaitAvailable(t, c, "lb")
	if len(g.Shards) != 2 || len(g.Shards[1].Members) != 2 {
		t.Errorf("shards %+v", g.Shards)
	}
	events, err := c.Events(t.Context(), began, time.Time{})
	if err != nil || len(events) < 4 || slices.ContainsFunc(events, func(e aws.Event) bool { return !g.Owns(e) }) {
		t.Errorf("events %+v (%v)", events, err)
	}
	confirmed(t, c, call)
}

// wantTrail wants CloudTrail to know the calls of the log by their request ids.
func wantTrail(t *testing.T, c *aws.Client, log *audit, began time.Time) {
	t.Helper()
	trail, err := c.Trail(t.Context(), began.Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]aws.TrailEvent{}
	for _, e := range trail {
		byID[e.RequestID] = e
	}
	for _, call := range log.recorded {
		e, ok := byID[call.RequestID]
		if !ok || e.Name != call.Name || (e.ErrorCode == "") != (call.Err == "") || (e.At.Sub(call.At)).Abs() > 2*time.Second {
			t.Errorf("call %+v is %+v in CloudTrail", call, e)
		}
	}
	if !slices.IsSortedFunc(trail, func(a, b aws.TrailEvent) int { return a.At.Compare(b.At) }) {
		t.Error("CloudTrail's events are not in order")
	}
}

// TestAGroupWithoutClusterModeHasRolesAndNames, fails over in AWS's documented
// words, runs into the quota, and lets its nodes be rebooted.
func TestAGroupWithoutClusterModeHasRolesAndNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs addresses of 127.0.0.0/8")
	}
	o := localOptions(t, 1, 1, "disabled")
	o.Control.Wording, o.Control.FailoverQuota = control.Documented, 1
	c := open(t, aws.Options{EndpointURL: up(t, o).URL()})
	g := awaitAvailable(t, c, "lb")
	if s := g.Shards[0]; g.ClusterEnabled || g.Configuration != "" || s.Primary == "" || s.Reader == "" || s.Members[0].Role != "primary" || s.Members[1].Role != "replica" {
		t.Errorf("%+v", g)
	}
	began := time.Now().Add(-time.Second)
	call, err := c.Reboot(t.Context(), "lb-002")
	if err != nil {
		t.Fatal(err)
	}
	confirmed(t, c, call)
	if f := awaitFact(t, c, began, aws.NodeRestarted); f.Node != "lb-002" {
		t.Errorf("%+v", f)
	}
	awaitAvailable(t, c, "lb")
	if _, err := c.TestFailover(t.Context(), "lb", "0001"); err != nil {
		t.Fatal(err)
	}
	if f := awaitFact(t, c, began, aws.FailedOver); f.From != "lb-001" || f.To != "lb-002" {
		t.Errorf("%+v", f)
	}
	awaitFact(t, c, began, aws.RecoveryFinished)
	awaitAvailable(t, c, "lb")
	if _, err := c.TestFailover(t.Context(), "lb", "0001"); aws.Code(err) != "APICallRateForCustomerExceeded" || !strings.Contains(fail.HintOf(err), "15 node groups") {
		t.Errorf("beyond the quota: %v (%q)", err, fail.HintOf(err))
	}
}
