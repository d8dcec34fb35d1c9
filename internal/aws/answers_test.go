package aws_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/rankbench/rankbench/internal/aws"
)

func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// nowhere is where a lost answer goes.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header {
	if n.header == nil {
		n.header = http.Header{}
	}
	return n.header
}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

// cloudWatch answers each query with a point, a page for each half, and
// remembers how many queries came at once.
type cloudWatch struct {
	sizes  []int
	status string
}

func (c *cloudWatch) answer(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	decoded, err := cbor.Decode(raw)
	if err != nil {
		panic(err)
	}
	in := decoded.(cbor.Map)
	queries := in["MetricDataQueries"].(cbor.List)
	_, second := in["NextToken"]
	if !second {
		c.sizes = append(c.sizes, len(queries))
	}
	at := 1_793_527_200.0
	if second {
		at += 60
	}
	results := cbor.List{}
	for _, q := range queries {
		results = append(results, cbor.Map{
			"Id": q.(cbor.Map)["Id"], "StatusCode": cbor.String(c.status),
			"Timestamps": cbor.List{&cbor.Tag{ID: 1, Value: cbor.Float64(at)}}, "Values": cbor.List{cbor.Float64(at)},
		})
	}
	out := cbor.Map{"MetricDataResults": results}
	if !second {
		out["NextToken"] = cbor.String("more")
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	_, _ = w.Write(cbor.Encode(out))
}

func TestMetricsOfManyNodesAreAskedForInParts(t *testing.T) {
	watch := &cloudWatch{status: "Complete"}
	f := serve(t, watch.answer)
	var nodes []string
	for i := range 40 {
		nodes = append(nodes, fmt.Sprintf("lb-0001-%03d", i))
	}
	c := open(t, aws.Options{EndpointURL: f.URL})
	from := time.Unix(1_793_527_200, 0)
	all, err := c.Metrics(t.Context(), nodes, nil, from.Add(7*time.Second), from.Add(100*time.Second), time.Minute)
	if err != nil || fmt.Sprint(watch.sizes) != "[500 60]" {
		t.Fatalf("asked for %v (%v)", watch.sizes, err)
	}
	for i, s := range all {
		if s.Node != nodes[i/14] || s.Name != aws.DefaultMetrics()[i%14] || len(s.Points) != 2 || !s.Points[0].At.Before(s.Points[1].At) || s.Points[0].Value != 1_793_527_200 {
			t.Fatalf("series %d: %+v", i, s)
		}
	}
	watch.status = "InternalError"
	if _, err := c.Metrics(t.Context(), nodes[:1], nil, from, time.Time{}, 0); aws.Code(err) != "InternalError" {
		t.Errorf("no answer: %v", err)
	}
	if _, err := c.Metrics(t.Context(), nodes, nil, from, from.Add(-time.Hour), 0); aws.Code(err) != aws.CodeBadRequest {
		t.Errorf("backwards: %v", err)
	}
}

// TestCloudTrailIsNotAskedMoreThanTwiceASecond over five pages, and is not
// listened to about calls that only read.
func TestCloudTrailIsNotAskedMoreThanTwiceASecond(t *testing.T) {
	pages := 0
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		pages++
		readOnly := fmt.Sprint(pages%2 == 0)
		page := map[string]any{"Events": []any{map[string]any{
			"EventId": fmt.Sprint(pages), "EventName": "TestFailover", "ReadOnly": readOnly, "EventTime": 1_793_527_200 - pages, "Username": "me",
			"AccessKeyId": keyID, "CloudTrailEvent": `{"requestID":"r-1","errorCode":"Oh"}`,
		}, map[string]any{"EventId": "bare", "CloudTrailEvent": "no json", "ReadOnly": "true"}}}
		if pages < 5 {
			page["NextToken"] = fmt.Sprint(pages)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(page)
	})
	c := open(t, aws.Options{EndpointURL: f.URL})
	began := time.Now()
	trail, err := c.Trail(t.Context(), time.Now().Add(-time.Hour))
	if took := time.Since(began); err != nil || pages != 5 || took < 2*time.Second {
		t.Errorf("%d pages in %v (%v)", pages, took, err)
	}
	if len(trail) != 3 || trail[0].ID != "5" || trail[0].RequestID != "r-1" || trail[0].ErrorCode != "Oh" || trail[0].User != "me" {
		t.Errorf("%+v", trail)
	}
}

func TestThePolicyIsTheWholeOfWhatIsNeeded(t *testing.T) {
	text := aws.Policy("ap-northeast-1", "123456789012", "LB")
	if text != aws.Policy("ap-northeast-1", "123456789012", "lb") {
		t.Error("not the same twice")
	}
	var p struct {
		Version   string
		Statement []struct {
			Sid, Effect      string
			Action, Resource []string
		}
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.Version != "2012-10-17" {
		t.Fatalf("%v: %s", err, text)
	}
	got := map[string]string{}
	for _, s := range p.Statement {
		for _, a := range s.Action {
			got[a] = s.Resource[0]
		}
	}
	const group = "arn:aws:elasticache:ap-northeast-1:123456789012:replicationgroup:lb"
	for action, resource := range map[string]string{
		"elasticache:DescribeEvents": "*", "elasticache:DescribeReplicationGroups": "*", "elasticache:DescribeCacheClusters": "*",
		"cloudwatch:GetMetricData": "*", "cloudtrail:LookupEvents": "*", "elasticache:ListTagsForResource": group,
		"elasticache:TestFailover": group, "elasticache:IncreaseReplicaCount": group, "elasticache:DecreaseReplicaCount": group,
		"elasticache:ModifyReplicationGroupShardConfiguration": group,
		"elasticache:RebootCacheCluster":                       "arn:aws:elasticache:ap-northeast-1:123456789012:cluster:lb-*",
	} {
		if got[action] != resource {
			t.Errorf("%s on %q, want %q", action, got[action], resource)
		}
		delete(got, action)
	}
	if len(got) != 0 {
		t.Errorf("more than is needed: %v", got)
	}
	if china := aws.Policy("cn-north-1", "1", "lb"); !strings.Contains(china, "arn:aws-cn:elasticache:cn-north-1:") {
		t.Error(china)
	}
}
