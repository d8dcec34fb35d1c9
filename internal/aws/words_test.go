package aws_test

import (
	"testing"

	"github.com/rankbench/rankbench/internal/aws"
)

// TestEveryKnownMessageIsRead has the messages of the field reports, of AWS's
// templates and samples, and of logs in the wild, word for word.
func TestEveryKnownMessageIsRead(t *testing.T) {
	const group, node = "dev-loadtest", "dev-loadtest-0001-001"
	ofGroup, ofNode := aws.Event{SourceType: "replication-group", Subject: group}, aws.Event{SourceType: "cache-cluster", Subject: node}
	for _, row := range []struct {
		about   aws.Event
		message string
		want    aws.Fact
	}{
		{ofGroup, "Test Failover API called for node group 0001", aws.Fact{Kind: aws.FailoverCalled, Shard: "0001"}},
		{ofGroup, "Failover to replica node dev-loadtest-0001-002 completed", aws.Fact{Kind: aws.FailedOver, To: "dev-loadtest-0001-002"}},
		{ofGroup, "Failover from master node dev-loadtest-002 to replica node dev-loadtest-001 completed", aws.Fact{Kind: aws.FailedOver, From: "dev-loadtest-002", To: "dev-loadtest-001"}},
		{ofNode, "Failover from primary node a-001 to replica node a-002 completed", aws.Fact{Kind: aws.FailedOver, From: "a-001", To: "a-002"}},
		{ofNode, "Recovering cache nodes 0001", aws.Fact{Kind: aws.RecoveryStarted}},
		{ofNode, "Started recovery for cache nodes 0001", aws.Fact{Kind: aws.RecoveryStarted}},
		{ofNode, "Finished recovery for cache nodes 0001", aws.Fact{Kind: aws.RecoveryFinished}},
		{ofNode, "Recovery completed", aws.Fact{Kind: aws.RecoveryFinished}},
		{ofGroup, "Increase replica count started for replication group dev-loadtest on 2020-02-03T05:50:27.155Z", aws.Fact{Kind: aws.ReplicasIncreasing}},
		{ofGroup, "Increase replica count completed for replication group dev-loadtest on 2020-02-03T05:56:09.009Z", aws.Fact{Kind: aws.ReplicasIncreased}},
		{ofGroup, "Increase replica count failed for replication group dev-loadtest on 2020-02-03T05:56:09.009Z", aws.Fact{Kind: aws.IncreaseFailed}},
		{ofGroup, "Increase replica count operation failed", aws.Fact{Kind: aws.IncreaseFailed}},
		{ofGroup, "Decrease Replica count request approved and started for replication group dev-loadtest on 2020-02-03T06:30:53.474Z.", aws.Fact{Kind: aws.ReplicasDecreasing}},
		{ofGroup, "Decrease Replica count operation completed for replication group dev-loadtest on 2020-02-03T06:36:35.467Z.", aws.Fact{Kind: aws.ReplicasDecreased}},
		{ofGroup, "Decrease Replica count operation failed because the request included deletion of one or more masters: dev-loadtest-0001-002 for replication group dev-loadtest",
			aws.Fact{Kind: aws.DecreaseRefused, Node: "dev-loadtest-0001-002"}},
		{ofGroup, "Decrease Replica count operation failed because the request included deletion of one or more masters: a-0001-002, a-0002-001 for replication group dev-loadtest",
			aws.Fact{Kind: aws.DecreaseRefused, Node: "a-0001-002, a-0002-001"}},
		{ofGroup, "Decrease Replica count operation failed for replication group dev-loadtest on 2020-02-03T06:36:35.467Z.", aws.Fact{Kind: aws.DecreaseFailed}},
		{ofNode, "Cache cluster created", aws.Fact{Kind: aws.NodeCreated}},
		{ofNode, "Cache cluster deleted", aws.Fact{Kind: aws.NodeRemoved}},
		{ofNode, "Removed cache nodes 0001", aws.Fact{Kind: aws.NodeRemoved}},
		{ofNode, "Added cache node 0001 in availability zone ap-northeast-1a", aws.Fact{Kind: aws.NodeAdded, Zone: "ap-northeast-1a"}},
		{ofGroup, "Moved a total of 8192 slots out of 8192 slots from shard 0001 to shard 0002", aws.Fact{Kind: aws.SlotsMoved, Slots: 8192, Of: 8192, From: "0001", To: "0002"}},
		{ofNode, "Cache node 0001 shutdown", aws.Fact{Kind: aws.NodeShutDown}},
		{ofNode, "Cache node 0001 restarted", aws.Fact{Kind: aws.NodeRestarted}},
		{ofNode, "Cache cluster patched", aws.Fact{Kind: aws.NodePatched}},
		{ofGroup, "Replication group dev-loadtest created", aws.Fact{Kind: aws.GroupCreated}},
		{ofGroup, "Failed to create replication group dev-loadtest due to unsuccessful creation of its cache cluster(s).", aws.Fact{Kind: aws.GroupFailed}},
		{ofGroup, "Automatic failover has been turned on for replication group dev-loadtest", aws.Fact{Kind: aws.FailoverTurnedOn}},

		{ofNode, "This cache cluster does not support persistence (ex: 'appendonly'). Please use a different instance type to enable persistence.", aws.Fact{}},
		{ofNode, "Finished modifying number of nodes from 1 to 2", aws.Fact{}},
		{ofNode, "Succeeded applying modification to cache node type to cache.r6g.large.", aws.Fact{}},
		{ofNode, "Failed applying modification to cache node type to cache.r6g.large.", aws.Fact{}},
		{ofNode, "Snapshot succeeded for snapshot with ID 's' of cache cluster with ID 'c'", aws.Fact{}},
		{ofGroup, "Deleting all cache clusters belonging to this replication group.", aws.Fact{}},
		{ofGroup, "Starting failover for shard 0001", aws.Fact{}},
		{ofGroup, "", aws.Fact{}},
		{ofGroup, "He said: Test Failover API called for node group 0001", aws.Fact{}},
	} {
		e, want := row.about, row.want
		e.Message = row.message
		if e.SourceType == "replication-group" {
			want.Group = group
		} else {
			want.Node = node
		}
		if got := aws.Read(e); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", row.message, got, want)
		}
	}
}

// FuzzRead: whatever AWS may write one day is read or left alone.
func FuzzRead(f *testing.F) {
	f.Add("Moved a total of 99999999999999999999 slots out of 1 slots from shard 0001 to shard 0002")
	f.Add("Failover to replica node \xff completed")
	f.Fuzz(func(t *testing.T, message string) {
		fact := aws.Read(aws.Event{SourceType: "replication-group", Subject: "lb", Message: message})
		if fact.Kind == aws.Unknown && fact != (aws.Fact{Group: "lb"}) {
			t.Errorf("%+v", fact)
		}
	})
}
