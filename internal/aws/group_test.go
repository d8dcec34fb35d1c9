package aws_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

func TestAGroupOwnsWhatComesAndGoes(t *testing.T) {
	clustered := aws.Group{ID: "lb", ClusterEnabled: true, Shards: []aws.Shard{{ID: "0001", Members: []aws.Member{{ID: "lb-0001-001"}, {ID: "odd"}}}}}
	plain := aws.Group{ID: "lb"}
	for _, row := range []struct {
		source, subject  string
		clustered, plain bool
	}{
		{"replication-group", "lb", true, true},
		{"replication-group", "lb-2", false, false},
		{"cache-cluster", "lb", false, false},
		{"cache-cluster", "lb-0001-001", true, false},
		{"cache-cluster", "lb-0012-003", true, false},
		{"cache-cluster", "odd", true, false},
		{"cache-cluster", "lb-002", false, true},
		{"cache-cluster", "lb-x-0001-001", false, false},
		{"cache-cluster", "xlb-0001-001", false, false},
		{"cache-cluster", "lb-0001-001-x", false, false},
		{"cache-parameter-group", "lb", false, false},
		{"user-group", "lb-001", false, false},
	} {
		e := aws.Event{SourceType: row.source, Subject: row.subject}
		if got := clustered.Owns(e); got != row.clustered {
			t.Errorf("cluster mode enabled: %s %s: %v", row.source, row.subject, got)
		}
		if got := plain.Owns(e); got != row.plain {
			t.Errorf("cluster mode disabled: %s %s: %v", row.source, row.subject, got)
		}
	}
}

const groupXML = `<DescribeReplicationGroupsResponse><DescribeReplicationGroupsResult><ReplicationGroups><ReplicationGroup>
<ReplicationGroupId>lb</ReplicationGroupId><Description>d</Description><Status>available</Status><ARN>arn:aws:elasticache:us-east-1:1:replicationgroup:lb</ARN>
<GlobalReplicationGroupInfo><GlobalReplicationGroupId>ldgnf-lb</GlobalReplicationGroupId></GlobalReplicationGroupInfo>
<PendingModifiedValues><AutomaticFailoverStatus>enabled</AutomaticFailoverStatus><Resharding><SlotMigration><ProgressPercentage>41.5</ProgressPercentage></SlotMigration></Resharding></PendingModifiedValues>
<MemberClusters><ClusterId>lb-0001-001</ClusterId><ClusterId>lb-0001-002</ClusterId><ClusterId>lb-0001-003</ClusterId><ClusterId>lb-0002-001</ClusterId></MemberClusters>
<NodeGroups><NodeGroup><NodeGroupId>0001</NodeGroupId><Status>available</Status><Slots>0-16383</Slots><NodeGroupMembers>
<NodeGroupMember><CacheClusterId>lb-0001-001</CacheClusterId><CacheNodeId>0001</CacheNodeId><PreferredAvailabilityZone>us-east-1a</PreferredAvailabilityZone></NodeGroupMember>
<NodeGroupMember><CacheClusterId>lb-0001-002</CacheClusterId><CacheNodeId>0001</CacheNodeId><PreferredAvailabilityZone>us-east-1b</PreferredAvailabilityZone></NodeGroupMember>
</NodeGroupMembers></NodeGroup></NodeGroups>
<AutomaticFailover>enabling</AutomaticFailover><MultiAZ>enabled</MultiAZ><SnapshotWindow>05:00-06:00</SnapshotWindow>
<ConfigurationEndpoint><Address>lb.x.clustercfg.use1.cache.amazonaws.com</Address><Port>6379</Port></ConfigurationEndpoint>
<ClusterEnabled>true</ClusterEnabled><CacheNodeType>cache.r7g.large</CacheNodeType><AuthTokenEnabled>true</AuthTokenEnabled><TransitEncryptionEnabled>true</TransitEncryptionEnabled>
<Durability>default</Durability><EffectiveDurability>async</EffectiveDurability><ClusterMode>enabled</ClusterMode><Engine>valkey</Engine>
</ReplicationGroup></ReplicationGroups></DescribeReplicationGroupsResult></DescribeReplicationGroupsResponse>`

func nodeXML(id, group, status string) string {
	return fmt.Sprintf(`<CacheCluster><CacheClusterId>%s</CacheClusterId><Engine>valkey</Engine><EngineVersion>8.1.0</EngineVersion><CacheClusterStatus>%s</CacheClusterStatus>
<PreferredMaintenanceWindow>sun:23:00-mon:01:30</PreferredMaintenanceWindow><PreferredAvailabilityZone>us-east-1c</PreferredAvailabilityZone>
<CacheNodes><CacheNode><CacheNodeId>0001</CacheNodeId><CacheNodeCreateTime>2026-11-01T09:00:00.000Z</CacheNodeCreateTime><Endpoint><Address>10.0.0.1</Address><Port>6379</Port></Endpoint></CacheNode></CacheNodes>
<ReplicationGroupId>%s</ReplicationGroupId></CacheCluster>`, id, status, group)
}

// TestAGroupIsAvailableWhenAllOfItIs: AWS says available of the group while
// members come and go, in one description or the other.
func TestAGroupIsAvailableWhenAllOfItIs(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostForm.Get("Action") == "DescribeReplicationGroups":
			fmt.Fprint(w, groupXML)
		case r.PostForm.Get("Marker") == "":
			fmt.Fprintf(w, `<DescribeCacheClustersResponse><DescribeCacheClustersResult><CacheClusters>%s</CacheClusters><Marker>2</Marker></DescribeCacheClustersResult></DescribeCacheClustersResponse>`,
				nodeXML("lb-0001-001", "lb", "available")+nodeXML("other-001", "other", "deleting"))
		default:
			fmt.Fprintf(w, `<DescribeCacheClustersResponse><DescribeCacheClustersResult><CacheClusters>%s</CacheClusters></DescribeCacheClustersResult></DescribeCacheClustersResponse>`,
				nodeXML("lb-0001-003", "lb", "creating")+nodeXML("lb-0001-004", "lb", "deleting"))
		}
	})
	g, err := open(t, aws.Options{EndpointURL: f.URL}).Group(t.Context(), "lb")
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for _, m := range g.Members() {
		members = append(members, fmt.Sprintf("%s/%s %s %s %v", m.Shard, m.ID, m.Status, m.Addr, m.Listed))
	}
	want := []string{
		"0001/lb-0001-001 available 10.0.0.1:6379 true", "0001/lb-0001-002 missing  true",
		"0001/lb-0001-003 creating 10.0.0.1:6379 false", "0001/lb-0001-004 deleting 10.0.0.1:6379 false", "0002/lb-0002-001 missing  false",
	}
	if !slices.Equal(members, want) {
		t.Errorf("members\n%s", strings.Join(members, "\n"))
	}
	not := "node group 0002 is missing, lb-0002-001 is missing, slots are on the move (42%)"
	if err := g.Available(); err == nil || !strings.Contains(err.Error(), "lb-0001-002 is missing, lb-0001-003 is creating, lb-0001-004 is deleting") || !strings.Contains(err.Error(), not) {
		t.Errorf("available: %v", err)
	}
	wantFields(t, g)
}

func wantFields(t *testing.T, g aws.Group) {
	t.Helper()
	got := fmt.Sprint(g.Engine, g.EngineVersion, g.AutomaticFailover, g.MultiAZ, g.AuthToken, g.TransitEncryption, g.GlobalDatastore, g.SnapshotWindow,
		g.MaintenanceWindow, g.Durability, g.Configuration, *g.Resharding, g.Pending, g.Shards[0].Slots, g.Shards[0].Members[0].Zone, g.Shards[0].Members[1].Zone)
	want := "valkey8.1.0enablingenabledtrue trueldgnf-lb05:00-06:00sun:23:00-mon:01:30asynclb.x.clustercfg.use1.cache.amazonaws.com:637941.5[AutomaticFailoverStatus Resharding]0-16383us-east-1cus-east-1b"
	if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !g.Shards[0].Members[0].Created.Equal(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("created %v", g.Shards[0].Members[0].Created)
	}
}

const eventPage = `<DescribeEventsResponse><DescribeEventsResult><Events>%s</Events><Marker>%s</Marker></DescribeEventsResult></DescribeEventsResponse>`

func eventXML(at, source, message string) string {
	return fmt.Sprintf(`<Event><SourceIdentifier>%s</SourceIdentifier><SourceType>replication-group</SourceType><Message>%s</Message><Date>%s</Date></Event>`, source, message, at)
}

func TestEventsComeOldestFirstAndOnce(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		newest := eventXML("2026-11-01T10:00:02.000Z", "lb", "b") + eventXML("2026-11-01T10:00:01.000Z", "lb", "second of its time") + eventXML("2026-11-01T10:00:01.000Z", "lb", "first of its time")
		if r.PostForm.Get("Marker") == "" {
			fmt.Fprintf(w, eventPage, newest, "next")
			return
		}
		fmt.Fprintf(w, eventPage, eventXML("2026-11-01T10:00:01.000Z", "lb", "first of its time")+eventXML("2026-11-01T10:00:03.000Z", "lb", "late")+
			eventXML("2026-11-01T10:00:02.000Z", "other", "b")+eventXML("2026-11-01T09:59:00.000Z", "lb", "Test Failover API called for node group 0001"), "")
	})
	c := open(t, aws.Options{EndpointURL: f.URL})
	events, err := c.Events(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Subject+" "+e.Message)
	}
	want := []string{"lb Test Failover API called for node group 0001", "lb first of its time", "lb second of its time", "other b", "lb b", "lb late"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	form := f.got[0]
	from, err := time.Parse(time.RFC3339, form.Get("StartTime"))
	if age := time.Since(from); err != nil || age > 14*24*time.Hour || age < 13*24*time.Hour || form.Get("EndTime") == "" || form.Get("SourceType") != "" {
		t.Errorf("asked for %v", form)
	}
	if n, err := c.FailoversWithin(t.Context(), 24*time.Hour); n != 1 || err != nil {
		t.Errorf("%d failovers (%v)", n, err)
	}
}
