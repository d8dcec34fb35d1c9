package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"

	"github.com/rankbench/rankbench/internal/local/control"
)

func TestOnlyChangesAreRecordedAcceptedOrRefused(t *testing.T) {
	l := startLocal(t)
	for _, query := range []string{
		"Action=DescribeEvents",
		"Action=DescribeReplicationGroups",
		"Action=ListTagsForResource&ResourceName=arn:aws:elasticache:r:0:replicationgroup:lb",
		"Action=NoSuchAction&ReplicationGroupId=lb",
		"Action=TestFailover&ReplicationGroupId=LB&NodeGroupId=0001",
		"Action=TestFailover&ReplicationGroupId=lb",
		"Action=DeleteReplicationGroup&ReplicationGroupId=lb&RetainPrimaryCluster=true",
		"Action=RebootCacheCluster&CacheClusterId=lb-0001-001&CacheNodeIdsToReboot.CacheNodeId.1=0001",
	} {
		l.send(t, "POST", "/", "Version=2015-02-02&"+query, form, "User-Agent: tester/1")
	}
	var got []string
	for _, c := range l.plane.calls {
		got = append(got, strings.TrimSpace(c.Name+" "+c.Resource+" "+c.ErrorCode))
		if !c.Time.Equal(present) || c.UserAgent != "tester/1" || len(c.ID) != 36 || len(c.RequestID) != 36 || c.ID == c.RequestID {
			t.Errorf("%+v", c)
		}
	}
	same(t, "calls", got, []string{"RebootCacheCluster lb-0001-001", "DeleteReplicationGroup lb InvalidParameterCombination",
		"TestFailover lb InvalidParameterValue", "TestFailover lb"})
	same(t, "parameters", l.plane.calls[3].Parameters, map[string]string{"ReplicationGroupId": "LB", "NodeGroupId": "0001"})
}

// A caller cannot fill our memory with what is recorded of its calls.
func TestLargeParametersAreCut(t *testing.T) {
	l := startLocal(t)
	long := strings.Repeat("ä", 1<<16)
	query := "Version=2015-02-02&Action=TestFailover&ReplicationGroupId=lb&Long=" + long
	for i := range 1000 {
		query += fmt.Sprintf("&P%d=%s", i, strings.Repeat("x", 100))
	}
	l.send(t, "POST", "/", query, form, "User-Agent: "+strings.Repeat("u", 5000))
	c, size := l.plane.calls[0], 0
	for name, value := range c.Parameters {
		size += len(name) + len(value)
	}
	if size > recordMost || size < recordMost/2 || len(c.UserAgent) > 200 {
		t.Errorf("%d bytes of parameters and %d of the user agent are kept", size, len(c.UserAgent))
	}
	if got := c.Parameters["Long"]; !utf8.ValidString(got) || !strings.HasPrefix(got, "ää") || len(got) > shortMost+3 {
		t.Errorf("%d bytes are left of a long parameter", len(got))
	}
}

func TestAuthTokenIsRecordedNowhere(t *testing.T) {
	l := startLocal(t)
	for _, refusal := range []error{nil, &control.Error{Code: "InvalidParameterValue", Status: 400}, fmt.Errorf("a defect")} {
		l.plane.refusal = refusal
		_, _ = l.elasticache().CreateReplicationGroup(t.Context(), createInput())
	}
	out, err := l.cloudtrail().LookupEvents(t.Context(), &cloudtrail.LookupEventsInput{})
	if err != nil || len(out.Events) != 3 {
		t.Fatal(out, err)
	}
	for i, e := range out.Events {
		if text := fmt.Sprint(*e.CloudTrailEvent, l.plane.calls[i]); strings.Contains(text, "a-secret") || strings.Contains(strings.ToLower(text), "authtoken") {
			t.Errorf("recorded: %s", text)
		}
	}
	if strings.Contains(l.log.String(), "a-secret") {
		t.Error("logged")
	}
}

func TestRecordedCallArrivesWithAllFields(t *testing.T) {
	l := startLocal(t)
	l.plane.refusal = &control.Error{Code: control.CodeGroupState, Status: 400, Message: "busy"}
	_, _ = l.elasticache().IncreaseReplicaCount(t.Context(), &elasticache.IncreaseReplicaCountInput{
		ReplicationGroupId: aws.String("lb"), ApplyImmediately: aws.Bool(true),
		ReplicaConfiguration: changedShards(),
	})
	call := l.plane.calls[0]
	out, err := l.cloudtrail().LookupEvents(t.Context(), &cloudtrail.LookupEventsInput{})
	if err != nil || len(out.Events) != 1 {
		t.Fatal(out, err)
	}
	event := out.Events[0]
	document := map[string]any{}
	if err := json.Unmarshal([]byte(*event.CloudTrailEvent), &document); err != nil {
		t.Fatal(err)
	}
	event.CloudTrailEvent = nil
	same(t, "event", event, types.Event{
		EventId: aws.String(call.ID), EventName: aws.String("IncreaseReplicaCount"), ReadOnly: aws.String("false"), AccessKeyId: aws.String(accessKeyID),
		EventTime: aws.Time(present), EventSource: aws.String("elasticache.amazonaws.com"), Username: aws.String("local"),
		Resources: []types.Resource{{ResourceName: aws.String("lb"), ResourceType: aws.String("AWS::ElastiCache::ReplicationGroup")}},
	})
	same(t, "document", document, wantDocument(call))
}

func wantDocument(call control.Call) map[string]any {
	return map[string]any{
		"eventVersion": "1.11",
		"userIdentity": map[string]any{"type": "IAMUser", "principalId": userID, "arn": "arn:aws:iam::000000000000:user/local",
			"accountId": "000000000000", "accessKeyId": accessKeyID, "userName": "local"},
		"eventTime": "2026-11-01T12:00:00Z", "eventSource": "elasticache.amazonaws.com", "eventName": "IncreaseReplicaCount",
		"awsRegion": "us-east-1", "sourceIPAddress": "127.0.0.1", "userAgent": call.UserAgent,
		"errorCode": "InvalidReplicationGroupState", "errorMessage": "The call was refused with InvalidReplicationGroupState.",
		"requestParameters": map[string]any{
			"replicationGroupId": "lb", "applyImmediately": true,
			"replicaConfiguration": []any{
				map[string]any{"nodeGroupId": "0001", "newReplicaCount": 2.0, "preferredAvailabilityZones": []any{"us-east-1a", "us-east-1b"}},
			},
		},
		"responseElements": nil, "requestID": call.RequestID, "eventID": call.ID, "readOnly": false, "eventType": "AwsApiCall",
		"managementEvent": true, "recipientAccountId": "000000000000", "eventCategory": "Management",
	}
}

func calls(n int) []control.Call {
	var all []control.Call
	for i := n; i > 0; i-- {
		c := control.Call{ID: fmt.Sprintf("id-%03d", i), Time: present.Add(time.Duration(i-n) * time.Minute), Name: "TestFailover", Resource: "lb"}
		switch {
		case i%5 == 0:
			c.Name, c.Resource = "RebootCacheCluster", "lb-0001-001"
			c.Parameters = map[string]string{"CacheClusterId": c.Resource}
		case i%7 == 0:
			c.Name, c.Resource = "AddTagsToResource", ""
		}
		all = append(all, c)
	}
	return all
}

func TestEventsAreLookedUpByAttributeAndTime(t *testing.T) {
	attribute := func(key, value string) []types.LookupAttribute {
		return []types.LookupAttribute{{AttributeKey: types.LookupAttributeKey(key), AttributeValue: aws.String(value)}}
	}
	for _, row := range []struct {
		name string
		in   cloudtrail.LookupEventsInput
		want int
	}{
		{"all", cloudtrail.LookupEventsInput{}, 35},
		{"id", cloudtrail.LookupEventsInput{LookupAttributes: attribute("EventId", "id-003")}, 1},
		{"name", cloudtrail.LookupEventsInput{LookupAttributes: attribute("EventName", "RebootCacheCluster")}, 7},
		{"source", cloudtrail.LookupEventsInput{LookupAttributes: attribute("EventSource", "elasticache.amazonaws.com")}, 35},
		{"another source", cloudtrail.LookupEventsInput{LookupAttributes: attribute("EventSource", "s3.amazonaws.com")}, 0},
		{"service", cloudtrail.LookupEventsInput{LookupAttributes: attribute("AWSServiceName", "elasticache")}, 35},
		{"resource", cloudtrail.LookupEventsInput{LookupAttributes: attribute("ResourceName", "lb")}, 24},
		{"type of resource", cloudtrail.LookupEventsInput{LookupAttributes: attribute("ResourceType", "AWS::ElastiCache::CacheCluster")}, 7},
		{"changes", cloudtrail.LookupEventsInput{LookupAttributes: attribute("ReadOnly", "false")}, 35},
		{"reads", cloudtrail.LookupEventsInput{LookupAttributes: attribute("ReadOnly", "true")}, 0},
		{"user", cloudtrail.LookupEventsInput{LookupAttributes: attribute("Username", "local")}, 35},
		{"another user", cloudtrail.LookupEventsInput{LookupAttributes: attribute("Username", "root")}, 0},
		{"key", cloudtrail.LookupEventsInput{LookupAttributes: attribute("AccessKeyId", accessKeyID)}, 35},
		{"start", cloudtrail.LookupEventsInput{StartTime: aws.Time(present.Add(-9 * time.Minute))}, 10},
		{"end", cloudtrail.LookupEventsInput{EndTime: aws.Time(present.Add(-9 * time.Minute))}, 26},
		{"insight", cloudtrail.LookupEventsInput{EventCategory: types.EventCategoryInsight}, 0},
	} {
		l := startLocal(t)
		l.plane.calls = calls(35)
		out, err := l.cloudtrail().LookupEvents(t.Context(), &row.in)
		if err != nil || len(out.Events) != row.want || out.NextToken != nil {
			t.Errorf("%s: %v, %v, want %d", row.name, out, err, row.want)
		}
	}
}

// A new call comes in with every page; none may be missed or come twice.
func TestCallsThatComeInBetweenDoNotShiftPages(t *testing.T) {
	l := startLocal(t)
	l.plane.calls = calls(120)
	pages := cloudtrail.NewLookupEventsPaginator(l.cloudtrail(), &cloudtrail.LookupEventsInput{MaxResults: aws.Int32(25)})
	var got, want []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			got = append(got, *e.EventId)
		}
		l.plane.Record(control.Call{ID: newID(), Time: present})
	}
	for _, c := range calls(120) {
		want = append(want, c.ID)
	}
	same(t, "ids", got, want)
}

func TestCloudTrailRefusesByItsTypes(t *testing.T) {
	two := []types.LookupAttribute{{AttributeKey: "EventName", AttributeValue: aws.String("x")}, {AttributeKey: "EventId", AttributeValue: aws.String("x")}}
	for _, row := range []struct {
		name string
		in   cloudtrail.LookupEventsInput
		is   func(error) bool
	}{
		{"results", cloudtrail.LookupEventsInput{MaxResults: aws.Int32(0)}, as[*types.InvalidMaxResultsException]},
		{"token", cloudtrail.LookupEventsInput{NextToken: aws.String("%")}, as[*types.InvalidNextTokenException]},
		{"token of nothing", cloudtrail.LookupEventsInput{NextToken: aws.String(token("nope"))}, as[*types.InvalidNextTokenException]},
		{"times", cloudtrail.LookupEventsInput{StartTime: aws.Time(present), EndTime: aws.Time(nine)}, as[*types.InvalidTimeRangeException]},
		{"category", cloudtrail.LookupEventsInput{EventCategory: "x"}, as[*types.InvalidEventCategoryException]},
		{"two attributes", cloudtrail.LookupEventsInput{LookupAttributes: two}, as[*types.InvalidLookupAttributesException]},
		{"attribute", cloudtrail.LookupEventsInput{LookupAttributes: []types.LookupAttribute{{AttributeKey: "x", AttributeValue: aws.String("x")}}}, as[*types.InvalidLookupAttributesException]},
	} {
		if _, err := startLocal(t).cloudtrail().LookupEvents(t.Context(), &row.in); !row.is(err) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
