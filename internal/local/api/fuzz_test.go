package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/metrics"
)

// FuzzEndpoint holds that whatever comes is answered with a result or with a
// refusal as AWS writes it, never with 5xx, and that the endpoint answers after it.
func FuzzEndpoint(f *testing.F) {
	seedQuery(f)
	seedJSON(f)
	seedCBOR(f)
	f.Fuzz(func(t *testing.T, method, target, contentType, amzTarget, smithy string, body []byte) {
		location, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip() // net/http refuses it
		}
		r := &http.Request{Method: method, URL: location, Host: "localhost:1", Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
		for name, value := range map[string]string{"Content-Type": contentType, "X-Amz-Target": amzTarget, "Smithy-Protocol": smithy} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		h := fuzzed()
		checkAnswer(t, answerTo(h, r))
		again := httptest.NewRequest("POST", "http://localhost/?Action=DescribeReplicationGroups&Version=2015-02-02", nil)
		if w := answerTo(h, again); w.Code != http.StatusOK {
			t.Fatalf("afterwards: %d %s", w.Code, w.Body)
		}
	})
}

func fuzzed() http.Handler {
	p := &fakePlane{
		groups:   []control.ReplicationGroup{enabledGroup(), disabledGroup()},
		clusters: []control.CacheCluster{node("lb-0001-001")},
		events:   events(30), calls: calls(60), tags: map[string]string{"a": "b"},
	}
	m := &fakeMetrics{first: nine, last: nine.Add(time.Hour), all: []metrics.Metric{{Name: "M", CacheClusterID: "c", NodeDimension: true}}}
	return newHandler(p, m, io.Discard, func() time.Time { return present })
}

func answerTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func checkAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code < 200 || w.Code >= 500 || len(w.Header().Get("x-amzn-RequestId")) != 36 {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	code, ok := "", false
	switch media := w.Header().Get("Content-Type"); {
	case media == "text/xml":
		code, ok = codeInXML(w.Body.Bytes())
	case strings.HasPrefix(media, jsonMedia):
		code, ok = codeInJSON(w.Body.Bytes())
	case media == cborMedia:
		code, ok = codeInCBOR(w.Body.Bytes())
	}
	if refused := w.Code >= 400; !ok || refused != (code != "") {
		t.Fatalf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// codeInXML is the code of a refusal, "" in a result; ok if it is well formed.
func codeInXML(body []byte) (code string, ok bool) {
	var refusal struct {
		XMLName   xml.Name
		Code      string `xml:"Error>Code"`
		Message   string `xml:"Error>Message"`
		RequestID string `xml:"RequestId"`
	}
	if err := xml.Unmarshal(body, &refusal); err != nil {
		return "", false
	}
	if refusal.XMLName.Local != "ErrorResponse" {
		return "", strings.HasSuffix(refusal.XMLName.Local, "Response")
	}
	return refusal.Code, refusal.Message != "" && refusal.RequestID != ""
}

func codeInJSON(body []byte) (code string, ok bool) {
	fields := map[string]any{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", false
	}
	return codeIn(fields)
}

func codeInCBOR(body []byte) (code string, ok bool) {
	fields, err := decodeCBOR(body)
	if err != nil {
		return "", false
	}
	return codeIn(fields)
}

func codeIn(fields map[string]any) (code string, ok bool) {
	code, refused := fields["__type"].(string)
	if !refused {
		return "", len(fields) > 0
	}
	message, _ := fields["message"].(string)
	return code, message != ""
}

func seedQuery(f *testing.F) {
	media := "application/x-www-form-urlencoded; charset=utf-8"
	for _, query := range []string{
		"Action=DescribeReplicationGroups&Version=2015-02-02&MaxRecords=20&Marker=a",
		"Action=DescribeCacheClusters&Version=2015-02-02&ShowCacheNodeInfo=true&CacheClusterId=LB-0001-001",
		"Action=DescribeEvents&Version=2015-02-02&SourceType=replication-group&SourceIdentifier=lb&StartTime=2026-11-01T09%3A59%3A59.123Z&MaxRecords=20&Marker=25",
		"Action=DescribeEvents&Version=2015-02-02&Duration=1440&EndTime=2026-11-01",
		"Action=TestFailover&Version=2015-02-02&ReplicationGroupId=lb&NodeGroupId=0001",
		"Action=IncreaseReplicaCount&Version=2015-02-02&ReplicationGroupId=lb&ApplyImmediately=true&ReplicaConfiguration.ConfigureShard.1.NodeGroupId=0001" +
			"&ReplicaConfiguration.ConfigureShard.1.NewReplicaCount=2&ReplicaConfiguration.ConfigureShard.1.PreferredAvailabilityZones.PreferredAvailabilityZone.1=us-east-1a",
		"Action=DecreaseReplicaCount&Version=2015-02-02&ReplicationGroupId=lb&ApplyImmediately=true&ReplicasToRemove.member.1=lb-0001-002",
		"Action=ModifyReplicationGroupShardConfiguration&Version=2015-02-02&ReplicationGroupId=lb&ApplyImmediately=true&NodeGroupCount=2&NodeGroupsToRemove.NodeGroupToRemove.1=0003",
		"Action=RebootCacheCluster&Version=2015-02-02&CacheClusterId=lb-0001-001&CacheNodeIdsToReboot.CacheNodeId.1=0001",
		"Action=CreateReplicationGroup&Version=2015-02-02&ReplicationGroupId=x&ReplicationGroupDescription=d&NumNodeGroups=2&AuthToken=secret&Tags.Tag.1.Key=k&Tags.Tag.1.Value=v",
		"Action=DeleteReplicationGroup&Version=2015-02-02&ReplicationGroupId=x&RetainPrimaryCluster=false",
		"Action=ListTagsForResource&Version=2015-02-02&ResourceName=arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb",
		"Action=AddTagsToResource&Version=2015-02-02&ResourceName=arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb&Tags.member.1.Key=k",
		"Action=RemoveTagsFromResource&Version=2015-02-02&ResourceName=arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb&TagKeys.member.1=k",
		"Action=GetCallerIdentity&Version=2011-06-15",
		"Action=GetMetricData&Version=2010-08-01&StartTime=2026-11-01T09:00:00Z&EndTime=2026-11-01T10:00:00Z&MaxDatapoints=7&MetricDataQueries.member.1.Id=m&MetricDataQueries.member.1.MetricStat.Metric.Namespace=AWS/ElastiCache" +
			"&MetricDataQueries.member.1.MetricStat.Metric.MetricName=M&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Name=CacheClusterId" +
			"&MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Value=c&MetricDataQueries.member.1.MetricStat.Period=60&MetricDataQueries.member.1.MetricStat.Stat=Sum",
		"Action=ListMetrics&Version=2010-08-01&Dimensions.member.1.Name=CacheClusterId",
		"Action=&Version=%zz", "a;b", "A.B.1.C=1&A=2", "Action=TestFailover&Version=2015-02-02&ReplicationGroupId=%ff%00",
	} {
		f.Add("POST", "/", media, "", "", []byte(query))
		f.Add("GET", "/?"+strings.ReplaceAll(query, "%zz", ""), "", "", "", []byte(nil))
	}
	f.Add("DELETE", "/", "", "", "", []byte(nil))
	f.Add("OPTIONS", "*", "", "", "", []byte(nil))
}

func seedJSON(f *testing.F) {
	const granite, trail = "GraniteServiceVersion20100801.", "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101."
	for _, seed := range []struct{ target, body string }{
		{granite + "GetMetricData", `{"StartTime":1793523600,"EndTime":1793527200,"MaxDatapoints":3,"NextToken":"MAow","MetricDataQueries":[{"Id":"m","MetricStat":{"Metric":{"Namespace":"AWS/ElastiCache",` +
			`"MetricName":"M","Dimensions":[{"Name":"CacheClusterId","Value":"c"}]},"Period":20,"Stat":"Average"}}]}`},
		{granite + "GetMetricStatistics", `{"Namespace":"AWS/ElastiCache","MetricName":"M","StartTime":1793523600,"EndTime":1793523660,"Period":60,"Statistics":["Sum"],"Dimensions":[{"Name":"CacheClusterId","Value":"c"}]}`},
		{granite + "ListMetrics", `{"NextToken":"TQpjCnRydWU"}`},
		{trail + "LookupEvents", `{"LookupAttributes":[{"AttributeKey":"EventName","AttributeValue":"TestFailover"}],"StartTime":1793523600.5,"MaxResults":5}`},
		{trail + "LookupEvents", `{"NextToken":"aWQtMDU4"}`},
		{"", `[1e999]`}, {granite + "GetMetricData", `{"StartTime":1e308,"EndTime":-1e308,"MetricDataQueries":[1,null,{}]}`}, {"..", `null`},
	} {
		f.Add("POST", "/", "application/x-amz-json-1.0", seed.target, "", []byte(seed.body))
		f.Add("POST", "/", "application/x-amz-json-1.1", seed.target, "", []byte(seed.body))
	}
}

func seedCBOR(f *testing.F) {
	const path = "/service/GraniteServiceVersion20100801/operation/"
	at := func(seconds float64) cbor.Value { return &cbor.Tag{ID: 1, Value: cbor.Float64(seconds)} }
	dimensions := cbor.List{cbor.Map{"Name": cbor.String("CacheClusterId"), "Value": cbor.String("c")}}
	metric := cbor.Map{"Namespace": cbor.String(metrics.Namespace), "MetricName": cbor.String("M"), "Dimensions": dimensions}
	data := cbor.Map{"StartTime": at(1793523600), "EndTime": at(1793527200), "MaxDatapoints": cbor.Uint(5), "MetricDataQueries": cbor.List{
		cbor.Map{"Id": cbor.String("m"), "MetricStat": cbor.Map{"Metric": metric, "Period": cbor.Uint(60), "Stat": cbor.String("Sum")}},
	}}
	statistics := cbor.Map{"StartTime": at(1793523600), "EndTime": at(1793523660), "Period": cbor.Uint(60), "Statistics": cbor.List{cbor.String("Sum")},
		"Namespace": cbor.String(metrics.Namespace), "MetricName": cbor.String("M"), "Dimensions": dimensions}
	for _, seed := range []struct {
		action string
		body   []byte
	}{
		{"GetMetricData", cbor.Encode(data)}, {"GetMetricStatistics", cbor.Encode(statistics)}, {"ListMetrics", cbor.Encode(cbor.Map{})},
		{"ListMetrics", []byte("\xbf\xff")}, {"ListMetrics", []byte("\xbb\xff\xff\xff\xff\xff\xff\xff\xff")}, {"ListMetrics", []byte{0x9f}}, {"Nothing", nil},
	} {
		f.Add("POST", path+seed.action, "application/cbor", "", "rpc-v2-cbor", seed.body)
	}
	f.Add("POST", "/service/", "", "", "", []byte{0xf7})
}
