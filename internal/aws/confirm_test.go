package aws_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

// TestACallIsConfirmedByEventOrByState has calls as the audit log has them, and
// a group of one shard with a primary, a replica, one being created and one
// being deleted.
func TestACallIsConfirmedByEventOrByState(t *testing.T) {
	at := time.Now()
	event := func(after time.Duration, message string) string {
		return eventXML(at.Add(after).UTC().Format("2006-01-02T15:04:05.000Z"), "lb", message)
	}
	for _, row := range []struct {
		name       string
		call       string
		parameters map[string]string
		events     string
		happened   bool
	}{
		{"failover told", "TestFailover", map[string]string{"NodeGroupId": "0001"}, event(2*time.Second, "Test Failover API called for node group 0001"), true},
		{"failover of another shard", "TestFailover", map[string]string{"NodeGroupId": "0002"}, event(2*time.Second, "Test Failover API called for node group 0001"), false},
		{"failover of before", "TestFailover", map[string]string{"NodeGroupId": "0001"}, event(-10*time.Second, "Test Failover API called for node group 0001"), false},
		{"failover not told", "TestFailover", map[string]string{"NodeGroupId": "0001"}, "", false},
		{"increase told", "IncreaseReplicaCount", map[string]string{"NewReplicaCount": "5"}, event(time.Second, "Increase replica count started for replication group lb on 2026-11-01T10:00:00.000Z"), true},
		{"increase of another group", "IncreaseReplicaCount", map[string]string{"NewReplicaCount": "5"}, event(time.Second, "Increase replica count started for replication group lb-2 on 2026-11-01T10:00:00.000Z"), false},
		{"increase shown", "IncreaseReplicaCount", map[string]string{"NewReplicaCount": "2"}, "", true},
		{"increase not shown", "IncreaseReplicaCount", map[string]string{"NewReplicaCount": "3"}, "", false},
		{"increase of a shard shown", "IncreaseReplicaCount", map[string]string{"ReplicaConfiguration": "0001=2"}, "", true},
		{"increase of a shard not shown", "IncreaseReplicaCount", map[string]string{"ReplicaConfiguration": "0001=3"}, "", false},
		{"increase of a shard that is not there", "IncreaseReplicaCount", map[string]string{"ReplicaConfiguration": "0007=1"}, "", false},
		{"decrease told", "DecreaseReplicaCount", map[string]string{"NewReplicaCount": "0"}, event(time.Second, "Decrease Replica count request approved and started for replication group lb on 2020-02-03T06:30:53.474Z."), true},
		{"decrease shown", "DecreaseReplicaCount", map[string]string{"NewReplicaCount": "2"}, "", true},
		{"decrease not shown", "DecreaseReplicaCount", map[string]string{"NewReplicaCount": "1"}, "", false},
		{"decrease refused", "DecreaseReplicaCount", map[string]string{"NewReplicaCount": "2"},
			event(time.Second, "Decrease Replica count operation failed because the request included deletion of one or more masters: lb-0001-001 for replication group lb"), false},
		{"removal shown", "DecreaseReplicaCount", map[string]string{"ReplicasToRemove": "lb-0001-004,lb-0001-009"}, "", true},
		{"removal not shown", "DecreaseReplicaCount", map[string]string{"ReplicasToRemove": "lb-0001-004,lb-0001-001"}, "", false},
		{"shards told", "ModifyReplicationGroupShardConfiguration", nil, event(time.Second, "Moved a total of 1 slots out of 2 slots from shard 0001 to shard 0002"), true},
		{"shards shown", "ModifyReplicationGroupShardConfiguration", nil, "", true}, // by the slots on the move
	} {
		t.Run(row.name, func(t *testing.T) {
			f := serve(t, describing(row.events))
			call := aws.Call{Name: row.call, Group: "lb", At: at, Parameters: row.parameters}
			if got, err := open(t, aws.Options{EndpointURL: f.URL}).Confirm(t.Context(), call); got != row.happened || err != nil {
				t.Errorf("confirmed %v (%v)", got, err)
			}
		})
	}
}

func describing(events string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.PostForm.Get("Action") {
		case "DescribeEvents":
			fmt.Fprintf(w, eventPage, events, "")
		case "DescribeReplicationGroups":
			fmt.Fprint(w, strings.ReplaceAll(groupXML, "<ClusterId>lb-0002-001</ClusterId>", ""))
		default:
			fmt.Fprintf(w, `<DescribeCacheClustersResponse><DescribeCacheClustersResult><CacheClusters>%s</CacheClusters></DescribeCacheClustersResult></DescribeCacheClustersResponse>`,
				nodeXML("lb-0001-001", "lb", "available")+nodeXML("lb-0001-002", "lb", "available")+nodeXML("lb-0001-003", "lb", "creating")+nodeXML("lb-0001-004", "lb", "deleting"))
		}
	}
}
