package api

import (
	"strings"
	"testing"
)

// anyID is put in place of request ids, which differ each time.
const anyID = "ID"

func TestAnswersAreExactlyThese(t *testing.T) {
	const (
		json10    = "Content-Type: application/x-amz-json-1.0"
		json11    = "Content-Type: application/x-amz-json-1.1"
		granite   = "X-Amz-Target: GraniteServiceVersion20100801."
		trail     = "X-Amz-Target: com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101."
		queryMode = "x-amzn-query-mode: true"
		cacheNS   = `xmlns="http://elasticache.amazonaws.com/doc/2015-02-02/"`
		faultNS   = `xmlns="http://webservices.amazon.com/AWSFault/2005-15-09"`
	)
	refusedXML := func(ns, code, message string) string {
		return "<ErrorResponse " + ns + "><Error><Type>Sender</Type><Code>" + code + "</Code><Message>" + message +
			"</Message></Error><RequestId>ID</RequestId></ErrorResponse>"
	}
	for _, row := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		contentType, want        string
		queryError               string
	}{
		{"events, none", "POST", "/", "Action=DescribeEvents&Version=2015-02-02", []string{form}, 200, "text/xml",
			"<DescribeEventsResponse " + cacheNS + "><DescribeEventsResult><Events></Events></DescribeEventsResult><ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></DescribeEventsResponse>", ""},
		{"GET", "GET", "/?Action=ListTagsForResource&Version=2015-02-02&ResourceName=arn:aws:elasticache:r:0:replicationgroup:lb", "", nil, 200, "text/xml",
			"<ListTagsForResourceResponse " + cacheNS + "><ListTagsForResourceResult><TagList></TagList></ListTagsForResourceResult><ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></ListTagsForResourceResponse>", ""},
		{"identity", "POST", "/", "Action=GetCallerIdentity&Version=2011-06-15", []string{form}, 200, "text/xml",
			`<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::000000000000:user/local</Arn>` +
				"<UserId>AIDALOCALLOCALLOCAL00</UserId><Account>000000000000</Account></GetCallerIdentityResult><ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></GetCallerIdentityResponse>", ""},
		{"unknown group", "POST", "/", "Action=DescribeReplicationGroups&Version=2015-02-02&ReplicationGroupId=x", []string{form}, 404, "text/xml",
			refusedXML(cacheNS, "ReplicationGroupNotFoundFault", "ReplicationGroup x not found."), ""},
		{"unknown action", "POST", "/", "Action=ModifyReplicationGroup&Version=2015-02-02", []string{form}, 400, "text/xml",
			refusedXML(faultNS, "InvalidAction", "Could not find operation ModifyReplicationGroup for version 2015-02-02 in this local ElastiCache."), ""},
		{"action of another service", "POST", "/", "Action=TestFailover&Version=2011-06-15", []string{form}, 400, "text/xml",
			refusedXML(faultNS, "InvalidAction", "Could not find operation TestFailover for version 2011-06-15 in this local ElastiCache."), ""},
		{"no version", "POST", "/", "Action=TestFailover", []string{form}, 400, "text/xml",
			refusedXML(faultNS, "InvalidAction", "Could not find operation TestFailover for version NO_VERSION_SPECIFIED in this local ElastiCache."), ""},
		{"nothing", "GET", "/", "", nil, 400, "text/xml", refusedXML(faultNS, "MissingAction", "The request is missing an action or a required parameter: Action."), ""},
		{"another path", "POST", "/x", "Action=DescribeEvents&Version=2015-02-02", []string{form}, 404, "text/xml",
			refusedXML(faultNS, "UnknownOperationException", "This local ElastiCache has no operation &#34;/x&#34;."), ""},
		{"another method", "PUT", "/", "Action=DescribeEvents&Version=2015-02-02", []string{form}, 405, "text/xml",
			refusedXML(faultNS, "MethodNotAllowed", "The method PUT is not allowed here; use POST or GET."), ""},
		{"a body of another type", "POST", "/", "Action=DescribeEvents&Version=2015-02-02", []string{"Content-Type: text/plain"}, 400, "text/xml",
			refusedXML(faultNS, "MissingAction", "The request is missing an action or a required parameter: Action."), ""},

		{"metric data in JSON", "POST", "/", `{"StartTime": 1793523600, "EndTime": 1793527200.5, "ScanBy": "TimestampAscending", "MaxDatapoints": 2, "MetricDataQueries": [
			{"Id": "m1", "MetricStat": {"Metric": {"Namespace": "AWS/ElastiCache", "MetricName": "EngineCPUUtilization", "Dimensions": [{"Name": "CacheClusterId", "Value": "lb-0001-001"}]}, "Period": 60, "Stat": "Average"}}]}`,
			[]string{json10, granite + "GetMetricData", queryMode}, 200, "application/x-amz-json-1.0",
			`{"Messages":[],"MetricDataResults":[{"Id":"m1","Label":"EngineCPUUtilization","Timestamps":[1793523600,1793523660],"Values":[1,2],"StatusCode":"PartialData"}],"NextToken":"MAoxNzkzNTIzNjYwMDAwMDAwMDAw"}`, ""},
		{"metric data in Query", "POST", "/", "Action=GetMetricData&Version=2010-08-01&StartTime=2026-11-01T09:00:00Z&EndTime=2026-11-01T09:02:00Z&MetricDataQueries.member.1.Id=m1&MetricDataQueries.member.1.Label=CPU" +
			"&MetricDataQueries.member.1.MetricStat.Metric.Namespace=AWS/ElastiCache&MetricDataQueries.member.1.MetricStat.Metric.MetricName=EngineCPUUtilization" +
			"&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Name=CacheNodeId&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Value=0001" +
			"&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.2.Name=CacheClusterId&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.2.Value=lb-0001-001" +
			"&MetricDataQueries.member.1.MetricStat.Period=60&MetricDataQueries.member.1.MetricStat.Stat=Maximum", []string{form}, 200, "text/xml",
			`<GetMetricDataResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><GetMetricDataResult><Messages></Messages><MetricDataResults><member><Id>m1</Id><Label>CPU</Label>` +
				`<Timestamps><member>2026-11-01T09:01:00.000Z</member><member>2026-11-01T09:00:00.000Z</member></Timestamps><Values><member>2.5</member><member>1.5</member></Values>` +
				`<StatusCode>Complete</StatusCode></member></MetricDataResults></GetMetricDataResult><ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></GetMetricDataResponse>`, ""},
		{"statistics in JSON", "POST", "/", `{"Namespace": "AWS/ElastiCache", "MetricName": "EngineCPUUtilization", "StartTime": 1793523600, "EndTime": 1793523660, "Period": 60, "Statistics": ["Sum", "SampleCount"],
			"Dimensions": [{"Name": "CacheClusterId", "Value": "lb-0001-001"}]}`, []string{json10, granite + "GetMetricStatistics"}, 200, "application/x-amz-json-1.0",
			`{"Label":"EngineCPUUtilization","Datapoints":[{"Timestamp":1793523600,"SampleCount":4,"Sum":4,"Unit":"Percent"}]}`, ""},
		{"metrics in JSON", "POST", "/", `{}`, []string{json10, granite + "ListMetrics"}, 200, "application/x-amz-json-1.0",
			`{"Metrics":[{"Namespace":"AWS/ElastiCache","MetricName":"EngineCPUUtilization","Dimensions":[{"Name":"CacheClusterId","Value":"lb-0001-001"}]},` +
				`{"Namespace":"AWS/ElastiCache","MetricName":"EngineCPUUtilization","Dimensions":[{"Name":"CacheClusterId","Value":"lb-0001-001"},{"Name":"CacheNodeId","Value":"0001"}]}]}`, ""},
		{"metrics in Query", "POST", "/", "Action=ListMetrics&Version=2010-08-01&Dimensions.member.1.Name=CacheNodeId", []string{form}, 200, "text/xml",
			`<ListMetricsResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><ListMetricsResult><Metrics><member><Namespace>AWS/ElastiCache</Namespace><MetricName>EngineCPUUtilization</MetricName>` +
				`<Dimensions><member><Name>CacheClusterId</Name><Value>lb-0001-001</Value></member><member><Name>CacheNodeId</Name><Value>0001</Value></member></Dimensions></member></Metrics></ListMetricsResult>` +
				`<ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></ListMetricsResponse>`, ""},
		{"a refusal of CloudWatch in JSON", "POST", "/", `{"MetricName": "x", "Period": 60, "Statistics": ["Sum"], "StartTime": 1, "EndTime": 61}`, []string{json10, granite + "GetMetricStatistics", queryMode}, 400,
			"application/x-amz-json-1.0", `{"__type":"MissingRequiredParameterException","message":"The parameter Namespace is required."}`, "MissingParameter;Sender"},
		{"a string for an integer in JSON", "POST", "/", `{"StartTime": 1793523600, "EndTime": 1793527200, "MaxDatapoints": "7"}`, []string{json10, granite + "GetMetricData"}, 400,
			"application/x-amz-json-1.0", `{"__type":"SerializationException","message":"The parameter MaxDatapoints must be an integer."}`, "SerializationException;Sender"},
		{"a string for a list in JSON", "POST", "/", `{"Dimensions": "x"}`, []string{json10, granite + "ListMetrics"}, 400, "application/x-amz-json-1.0",
			`{"__type":"SerializationException","message":"The parameter Dimensions must be a list."}`, "SerializationException;Sender"},
		{"no JSON", "POST", "/", `Action=x`, []string{json10, granite + "ListMetrics"}, 400, "application/x-amz-json-1.0",
			`{"__type":"SerializationException","message":"The body is not a JSON object."}`, "SerializationException;Sender"},
		{"two JSON", "POST", "/", `{}{}`, []string{json10, granite + "ListMetrics"}, 400, "application/x-amz-json-1.0",
			`{"__type":"SerializationException","message":"Something follows the JSON object."}`, "SerializationException;Sender"},
		{"unknown target", "POST", "/", `{}`, []string{json10, granite + "PutMetricData"}, 400, "application/x-amz-json-1.0",
			`{"__type":"UnknownOperationException","message":"This local ElastiCache has no operation \"GraniteServiceVersion20100801.PutMetricData\"."}`, ""},
		{"no target", "POST", "/", `{}`, []string{json11}, 400, "application/x-amz-json-1.1",
			`{"__type":"UnknownOperationException","message":"This local ElastiCache has no operation \"\"."}`, ""},
		{"JSON by GET", "GET", "/", "", []string{trail + "LookupEvents"}, 405, "application/x-amz-json-1.1",
			`{"__type":"MethodNotAllowed","message":"The method GET is not allowed here; use POST."}`, ""},
		{"trail, none", "POST", "/", "", []string{json11, trail + "LookupEvents"}, 200, "application/x-amz-json-1.1", `{"Events":[]}`, ""},
		{"trail by the short target", "POST", "/", "{}", []string{json11, "X-Amz-Target: CloudTrail_20131101.LookupEvents"}, 200, "application/x-amz-json-1.1", `{"Events":[]}`, ""},
		{"a refusal of CloudTrail", "POST", "/", `{"MaxResults": 51}`, []string{json11, trail + "LookupEvents"}, 400, "application/x-amz-json-1.1",
			`{"__type":"InvalidMaxResultsException","message":"MaxResults must be between 1 and 50, not 51."}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			l.oneMetric()
			response, body := l.send(t, row.method, row.path, row.body, row.headers...)
			id := response.Header.Get("x-amzn-RequestId")
			if got := strings.ReplaceAll(body, id, anyID); got != row.want || response.StatusCode != row.status {
				t.Errorf("%d %s\nwant %d %s", response.StatusCode, got, row.status, row.want)
			}
			if got := response.Header.Get("Content-Type"); got != row.contentType {
				t.Errorf("content type %q, want %q", got, row.contentType)
			}
			if got := response.Header.Get("x-amzn-query-error"); got != row.queryError {
				t.Errorf("x-amzn-query-error %q, want %q", got, row.queryError)
			}
			if len(id) != 36 || response.Header.Get("Date") == "" {
				t.Errorf("request id %q, date %q", id, response.Header.Get("Date"))
			}
		})
	}
}

func TestBodyAboveTheLimitIsRefused(t *testing.T) {
	for name, headers := range map[string][]string{
		"Query": {form},
		"JSON":  {"X-Amz-Target: GraniteServiceVersion20100801.ListMetrics"},
		"CBOR":  {"Smithy-Protocol: rpc-v2-cbor"},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := startLocal(t).send(t, "POST", "/", strings.Repeat("x", bodyLimit+1), headers...)
			if response.StatusCode != 413 || !strings.Contains(body, "RequestEntityTooLarge") {
				t.Errorf("%d %s", response.StatusCode, body)
			}
		})
	}
}

func TestCBORRefusalsKeepTheProtocol(t *testing.T) {
	const path = "/service/GraniteServiceVersion20100801/operation/"
	for _, row := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
	}{
		{"unknown operation", "POST", path + "PutMetricData", "\xa0", nil, 404, "UnknownOperationException"},
		{"service without CBOR", "POST", "/service/CloudTrail_20131101/operation/LookupEvents", "\xa0", nil, 404, "UnknownOperationException"},
		{"another path", "POST", "/service/x", "\xa0", nil, 404, "UnknownOperationException"},
		{"by GET", "GET", path + "ListMetrics", "", nil, 405, "MethodNotAllowed"},
		{"another protocol", "POST", path + "ListMetrics", "\xa0", []string{"Smithy-Protocol: rpc-v2-json"}, 400, "SerializationException"},
		{"another content type", "POST", path + "ListMetrics", "\xa0", []string{"Content-Type: application/json"}, 415, "UnsupportedMediaTypeException"},
		{"no CBOR", "POST", path + "ListMetrics", "\xff\xff", nil, 400, "SerializationException"},
		{"no map", "POST", path + "ListMetrics", "\x80", nil, 400, "SerializationException"},
		{"number for a string", "POST", path + "ListMetrics", "\xa1\x69Namespace\x01", nil, 400, "SerializationException"},
		{"wrong tag for a time", "POST", path + "GetMetricData", "\xa1\x69StartTime\xc2\x01", nil, 400, "SerializationException"},
	} {
		t.Run(row.name, func(t *testing.T) {
			headers := append([]string{"Smithy-Protocol: rpc-v2-cbor", "Content-Type: application/cbor"}, row.headers...)
			response, body := startLocal(t).send(t, row.method, row.path, row.body, headers...)
			got, ok := fromCBORBody(t, body)
			if response.StatusCode != row.status || !ok || got["__type"] != row.code {
				t.Errorf("%d %v, want %d %s", response.StatusCode, got, row.status, row.code)
			}
			if response.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" || response.Header.Get("Content-Type") != "application/cbor" {
				t.Errorf("headers %v", response.Header)
			}
		})
	}
}

func fromCBORBody(t *testing.T, body string) (map[string]any, bool) {
	t.Helper()
	fields, err := decodeCBOR([]byte(body))
	return fields, err == nil
}
