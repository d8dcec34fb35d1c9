package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"
	"github.com/aws/smithy-go"

	"github.com/rankbench/rankbench/internal/local/control"
)

// as reports whether an error is of a type of the SDK.
func as[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func TestRefusalsArriveAsTheTypesOfTheSDK(t *testing.T) {
	for _, row := range []struct {
		code   string
		status int
		is     func(error) bool
	}{
		{control.CodeGroupNotFound, 404, as[*types.ReplicationGroupNotFoundFault]},
		{control.CodeGroupExists, 400, as[*types.ReplicationGroupAlreadyExistsFault]},
		{control.CodeNodeGroupNotFound, 404, as[*types.NodeGroupNotFoundFault]},
		{control.CodeGroupState, 400, as[*types.InvalidReplicationGroupStateFault]},
		{control.CodeClusterState, 400, as[*types.InvalidCacheClusterStateFault]},
		{control.CodeTooManyFailovers, 400, as[*types.APICallRateForCustomerExceededFault]},
		{control.CodeParameterValue, 400, as[*types.InvalidParameterValueException]},
		{control.CodeParameterMix, 400, as[*types.InvalidParameterCombinationException]},
		{control.CodeNoOperation, 400, as[*types.NoOperationFault]},
		{control.CodeNodeGroupsQuota, 400, as[*types.NodeGroupsPerReplicationGroupQuotaExceededFault]},
	} {
		t.Run(row.code, func(t *testing.T) {
			l := startLocal(t)
			l.plane.refusal = &control.Error{Code: row.code, Status: row.status, Message: "no <such> thing & more"}
			errs := l.refusedEverywhere(t)
			if !anyOf(errs, row.is) {
				t.Errorf("no operation gives the type of the SDK: %v", errs)
			}
			for _, err := range errs {
				checkRefusal(t, err, row.code, row.status)
			}
		})
	}
}

// refusedEverywhere are the errors of the operations that between them have all
// faults of the model.
func (l *local) refusedEverywhere(t *testing.T) []error {
	t.Helper()
	c, id := l.elasticache(), aws.String("lb")
	_, create := c.CreateReplicationGroup(t.Context(), &elasticache.CreateReplicationGroupInput{ReplicationGroupId: id, ReplicationGroupDescription: id})
	_, failover := c.TestFailover(t.Context(), &elasticache.TestFailoverInput{ReplicationGroupId: id, NodeGroupId: aws.String("0001")})
	_, increase := c.IncreaseReplicaCount(t.Context(), &elasticache.IncreaseReplicaCountInput{ReplicationGroupId: id, ApplyImmediately: aws.Bool(true)})
	return []error{create, failover, increase}
}

func anyOf(errs []error, is func(error) bool) bool {
	for _, err := range errs {
		if is(err) {
			return true
		}
	}
	return false
}

func checkRefusal(t *testing.T, err error, code string, status int) {
	t.Helper()
	api, ok := errors.AsType[smithy.APIError](err)
	response, hasResponse := errors.AsType[*awshttp.ResponseError](err)
	if !ok || !hasResponse {
		t.Fatalf("not a refusal: %v", err)
	}
	if message := api.ErrorMessage(); message != "no <such> thing & more" {
		t.Errorf("message %q", message)
	}
	// modelled faults that have no code in the model go by the name of their type
	if got := api.ErrorCode(); got != code && got != code+"Fault" && got != code+"Exception" {
		t.Errorf("code %q, want %q", got, code)
	}
	if response.HTTPStatusCode() != status || len(response.ServiceRequestID()) != 36 {
		t.Errorf("status %d, request id %q", response.HTTPStatusCode(), response.ServiceRequestID())
	}
}

func TestUnknownClusterIsCacheClusterNotFound(t *testing.T) {
	_, err := startLocal(t).elasticache().DescribeCacheClusters(t.Context(), &elasticache.DescribeCacheClustersInput{CacheClusterId: aws.String("nope")})
	if !as[*types.CacheClusterNotFoundFault](err) {
		t.Error(err)
	}
}

func TestDefectBecomesInternalFailureAndItsTextGoesToTheLogOnly(t *testing.T) {
	l := startLocal(t)
	l.plane.refusal = fmt.Errorf("redis-server: a password")
	response, body := l.send(t, "POST", "/", "Action=TestFailover&Version=2015-02-02&ReplicationGroupId=lb&NodeGroupId=0001", form)
	if response.StatusCode != 500 || !strings.Contains(body, "<Type>Receiver</Type><Code>InternalFailure</Code>") || strings.Contains(body, "password") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if text := l.log.String(); !strings.Contains(text, "TestFailover "+response.Header.Get("x-amzn-RequestId")+": redis-server: a password") {
		t.Errorf("log: %q", text)
	}
	if l.plane.calls[0].ErrorCode != "InternalFailure" {
		t.Errorf("recorded %q", l.plane.calls[0].ErrorCode)
	}
}

// panicking is a plane with a defect.
type panicking struct{ *fakePlane }

func (panicking) ReplicationGroups(string) ([]control.ReplicationGroup, error) { panic("a defect") }

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	l := startLocal(t)
	l.server.Config.Handler = New(panicking{l.plane}, l.metrics, l.log)
	for range 2 { // the handler lives on
		response, body := l.send(t, "POST", "/", "Action=DescribeReplicationGroups&Version=2015-02-02", form)
		if response.StatusCode != 500 || !strings.Contains(body, "<Code>InternalFailure</Code>") {
			t.Errorf("%d %s", response.StatusCode, body)
		}
	}
	if text := l.log.String(); strings.Count(text, "panic: a defect") != 2 {
		t.Errorf("log: %q", text)
	}
}

func TestFormOfElastiCacheParametersIsChecked(t *testing.T) {
	const group = "&ReplicationGroupId=lb"
	arn := "&ResourceName=arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb"
	for _, row := range []struct{ name, query, code, message string }{
		{"missing", "TestFailover&NodeGroupId=0001", "InvalidParameterValue", "The parameter ReplicationGroupId must be provided and must not be null."},
		{"blank", "TestFailover&ReplicationGroupId=+&NodeGroupId=0001", "InvalidParameterValue", "ReplicationGroupId"},
		{"first fault counts", "TestFailover", "InvalidParameterValue", "ReplicationGroupId"},
		{"integer", "IncreaseReplicaCount&ApplyImmediately=true&NewReplicaCount=two" + group, "InvalidParameterValue", "NewReplicaCount must be an integer, not &#34;two&#34;"},
		{"integer of more than 32 bits", "IncreaseReplicaCount&ApplyImmediately=true&NewReplicaCount=4294967297" + group, "InvalidParameterValue", "NewReplicaCount"},
		{"boolean", "IncreaseReplicaCount&ApplyImmediately=yes" + group, "InvalidParameterValue", "ApplyImmediately"},
		{"no ApplyImmediately", "IncreaseReplicaCount&NewReplicaCount=1" + group, "InvalidParameterValue", "ApplyImmediately must be provided"},
		{"in a list", "IncreaseReplicaCount&ApplyImmediately=true&ReplicaConfiguration.ConfigureShard.1.NodeGroupId=0001" + group,
			"InvalidParameterValue", "ReplicaConfiguration.ConfigureShard.1.NewReplicaCount must be provided"},
		{"list that is none", "DecreaseReplicaCount&ApplyImmediately=true&ReplicasToRemove=a" + group, "InvalidParameterValue", "ReplicasToRemove must be a list"},
		{"list without numbers", "DecreaseReplicaCount&ApplyImmediately=true&ReplicasToRemove.member.x=a" + group, "InvalidParameterValue", "ReplicasToRemove"},
		{"list of another name", "DecreaseReplicaCount&ApplyImmediately=true&ReplicasToRemove.item.1=a" + group, "InvalidParameterValue", "ReplicasToRemove"},
		{"structure for a string", "TestFailover&ReplicationGroupId.x=1&NodeGroupId=0001", "InvalidParameterValue", "ReplicationGroupId must be a string"},
		{"value and structure", "DescribeEvents&A=1&A.B=2", "InvalidQueryParameter", "malformed"},
		{"empty name", "DescribeEvents&.=2", "InvalidQueryParameter", "malformed"},
		{"too deep", "DescribeEvents&" + strings.Repeat("A.", 20) + "A=2", "InvalidQueryParameter", "malformed"},
		{"syntax", "DescribeEvents&A=%zz", "MalformedQueryString", "syntax"},
		{"records too few", "DescribeReplicationGroups&MaxRecords=19", "InvalidParameterValue", "MaxRecords must be between 20 and 100, not 19"},
		{"records too many", "DescribeCacheClusters&MaxRecords=101", "InvalidParameterValue", "MaxRecords"},
		{"marker", "DescribeReplicationGroups&Marker=%3Cno%3E", "InvalidParameterValue", "Marker"},
		{"marker of events", "DescribeEvents&Marker=lb", "InvalidParameterValue", "Marker"},
		{"marker zero", "DescribeEvents&Marker=0", "InvalidParameterValue", "Marker"},
		{"date", "DescribeEvents&StartTime=yesterday", "InvalidParameterValue", "StartTime must be a date"},
		{"date as a number", "DescribeEvents&StartTime=1793523600", "InvalidParameterValue", "StartTime must be a date"},
		{"end before start", "DescribeEvents&StartTime=2026-11-01T10:00:00Z&EndTime=2026-11-01T09:00:00Z", "InvalidParameterCombination", "StartTime"},
		{"negative duration", "DescribeEvents&Duration=-1", "InvalidParameterValue", "Duration"},
		{"source without type", "DescribeEvents&SourceIdentifier=lb", "InvalidParameterCombination", "SourceType"},
		{"type of source", "DescribeEvents&SourceType=group", "InvalidParameterValue", "SourceType must be one of cache-cluster"},
		{"no nodes to reboot", "RebootCacheCluster&CacheClusterId=lb-001", "InvalidParameterValue", "CacheNodeIdsToReboot"},
		{"final snapshot", "DeleteReplicationGroup&FinalSnapshotIdentifier=s" + group, "InvalidParameterCombination", "has no snapshots"},
		{"retained primary", "DeleteReplicationGroup&RetainPrimaryCluster=true" + group, "InvalidParameterCombination", "has no snapshots"},
		{"restored from a snapshot", "CreateReplicationGroup&ReplicationGroupDescription=d&SnapshotName=s" + group, "InvalidParameterCombination", "SnapshotName"},
		{"own layout", "CreateReplicationGroup&ReplicationGroupDescription=d&NodeGroupConfiguration.NodeGroupConfiguration.1.ReplicaCount=2" + group,
			"InvalidParameterCombination", "NodeGroupConfiguration"},
		{"not an ARN", "ListTagsForResource&ResourceName=lb", "InvalidARN", "lb"},
		{"ARN of something else", "ListTagsForResource&ResourceName=arn:aws:s3:::bucket", "InvalidARN", "s3"},
		{"no tags", "AddTagsToResource" + arn, "InvalidParameterValue", "Tags"},
		{"tag without a key", "AddTagsToResource&Tags.Tag.1.Value=x" + arn, "InvalidParameterValue", "Tags.Tag.1.Key"},
		{"long tag", "AddTagsToResource&Tags.Tag.1.Key=" + strings.Repeat("k", 129) + arn, "InvalidParameterValue", "Tags.Tag.1.Key"},
		{"no keys", "RemoveTagsFromResource" + arn, "InvalidParameterValue", "TagKeys"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			response, body := l.send(t, "POST", "/", "Version=2015-02-02&Action="+row.query, form)
			want := "<Error><Type>Sender</Type><Code>" + row.code + "</Code><Message>"
			if response.StatusCode/100 != 4 || !strings.Contains(body, want) || !strings.Contains(body, row.message) {
				t.Errorf("%d %s\nwant %s … %s", response.StatusCode, body, want, row.message)
			}
			if l.plane.asked != nil {
				t.Errorf("the plane was asked %v", l.plane.asked)
			}
		})
	}
}

func TestListsGoByBothTheirNames(t *testing.T) {
	for _, row := range []struct{ name, query string }{
		{"names of the model", "NodeGroupsToRemove.NodeGroupToRemove.10=b&NodeGroupsToRemove.NodeGroupToRemove.2=a"},
		{"member", "NodeGroupsToRemove.member.10=b&NodeGroupsToRemove.member.2=a"},
		{"empty", "NodeGroupsToRetain=&NodeGroupsToRemove.member.1=a&NodeGroupsToRemove.member.2=b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			l.send(t, "POST", "/", "Action=ModifyReplicationGroupShardConfiguration&Version=2015-02-02&ReplicationGroupId=lb&NodeGroupCount=1&ApplyImmediately=TRUE&"+row.query, form)
			same(t, "asked", l.plane.asked, control.ShardChange{GroupID: "lb", NodeGroupCount: 1, ApplyImmediately: true, Remove: []string{"a", "b"}})
		})
	}
}

func TestOtherSourcesHaveNoEvents(t *testing.T) {
	l := startLocal(t)
	l.plane.events = events(3)
	out, err := l.elasticache().DescribeEvents(t.Context(), &elasticache.DescribeEventsInput{SourceType: types.SourceTypeServerlessCache, SourceIdentifier: aws.String("x")})
	if err != nil || len(out.Events) != 0 {
		t.Errorf("%v %v", out, err)
	}
}

var _ http.Handler = (*handler)(nil)
