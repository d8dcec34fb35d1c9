package api

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	rankaws "github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/metrics"
)

// fakePlane answers with what it is given and keeps what it is asked: it stands
// in for the control plane where only the codecs are under test.
type fakePlane struct {
	mu       sync.Mutex
	groups   []control.ReplicationGroup
	clusters []control.CacheCluster
	events   []control.Event // newest first
	calls    []control.Call  // newest first
	tags     map[string]string
	asked    any   // the input of the last call
	refusal  error // of the next calls that change something
}

var _ Plane = (*fakePlane)(nil)

func (p *fakePlane) ReplicationGroups(id string) ([]control.ReplicationGroup, error) {
	if id == "" {
		return p.groups, nil
	}
	for _, g := range p.groups {
		if g.ID == id {
			return []control.ReplicationGroup{g}, nil
		}
	}
	return nil, &control.Error{Code: control.CodeGroupNotFound, Status: 404, Message: "ReplicationGroup " + id + " not found."}
}

func (p *fakePlane) CacheClusters(id string) ([]control.CacheCluster, error) {
	if id == "" {
		return p.clusters, nil
	}
	for _, c := range p.clusters {
		if c.ID == id {
			return []control.CacheCluster{c}, nil
		}
	}
	return nil, &control.Error{Code: control.CodeClusterNotFound, Status: 404, Message: "CacheCluster not found: " + id}
}

func (p *fakePlane) Events(f control.EventFilter) []control.Event {
	p.ask(f)
	var out []control.Event
	for _, e := range p.events {
		if (f.Source == "" || f.Source == e.Source) && (f.SourceID == "" || f.SourceID == e.SourceID) &&
			!e.Date.Before(f.From) && (f.To.IsZero() || !e.Date.After(f.To)) && (f.Before == 0 || e.Seq < f.Before) {
			out = append(out, e)
		}
	}
	return out
}

// ask keeps an input and returns the refusal that is due.
func (p *fakePlane) ask(in any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = in
	return p.refusal
}

func (p *fakePlane) group(in any) (control.ReplicationGroup, error) {
	if err := p.ask(in); err != nil {
		return control.ReplicationGroup{}, err
	}
	return enabledGroup(), nil
}

func (p *fakePlane) CreateReplicationGroup(_ context.Context, in control.CreateInput) (control.ReplicationGroup, error) {
	return p.group(in)
}

func (p *fakePlane) DeleteReplicationGroup(_ context.Context, id string) (control.ReplicationGroup, error) {
	return p.group(id)
}

func (p *fakePlane) TestFailover(_ context.Context, group, nodeGroup string) (control.ReplicationGroup, error) {
	return p.group([]string{group, nodeGroup})
}

func (p *fakePlane) IncreaseReplicaCount(_ context.Context, in control.ReplicaChange) (control.ReplicationGroup, error) {
	return p.group(in)
}

func (p *fakePlane) DecreaseReplicaCount(_ context.Context, in control.ReplicaChange) (control.ReplicationGroup, error) {
	return p.group(in)
}

func (p *fakePlane) ModifyShards(_ context.Context, in control.ShardChange) (control.ReplicationGroup, error) {
	return p.group(in)
}

func (p *fakePlane) RebootCacheCluster(_ context.Context, id string, nodes []string) (control.CacheCluster, error) {
	if err := p.ask(append([]string{id}, nodes...)); err != nil {
		return control.CacheCluster{}, err
	}
	return node("lb-0001-001"), nil
}

func (p *fakePlane) Tags(arn string) (map[string]string, error) {
	err := p.ask(arn)
	return p.tags, err
}

func (p *fakePlane) AddTags(arn string, tags map[string]string) (map[string]string, error) {
	all := maps.Clone(p.tags)
	maps.Copy(all, tags)
	return all, p.ask(tags)
}

func (p *fakePlane) RemoveTags(_ string, keys []string) (map[string]string, error) {
	all := maps.Clone(p.tags)
	for _, k := range keys {
		delete(all, k)
	}
	return all, p.ask(keys)
}

func (p *fakePlane) Record(c control.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = slices.Insert(p.calls, 0, c)
}

func (p *fakePlane) Calls() []control.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func (p *fakePlane) Account() string { return "000000000000" }
func (p *fakePlane) Region() string  { return "us-east-1" }

// fakeMetrics has a point in each period of a window: 1, 2, 3 … times 4 samples.
type fakeMetrics struct {
	all         []metrics.Metric
	first, last time.Time
	err         error
}

var _ Metrics = (*fakeMetrics)(nil)

func (m *fakeMetrics) Metrics() []metrics.Metric { return m.all }

func (m *fakeMetrics) Points(q metrics.Query) ([]metrics.Point, error) {
	var points []metrics.Point
	n := 0.0
	for at := m.first; at.Before(m.last); at = at.Add(q.Period) {
		n++
		if !at.Before(q.From) && at.Before(q.To) {
			points = append(points, metrics.Point{Start: at, Sum: n * 4, Minimum: n - 0.5, Maximum: n + 0.5, SampleCount: 4})
		}
	}
	return points, m.err
}

var (
	created = time.Date(2026, 11, 1, 9, 0, 0, 123e6, time.UTC)
	present = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
)

func enabledGroup() control.ReplicationGroup {
	return control.ReplicationGroup{
		ID: "lb", Description: "a board <1>", Status: control.Modifying, Created: created,
		ARN: "arn:aws:elasticache:us-east-1:000000000000:replicationgroup:lb", ClusterEnabled: true,
		ConfigurationEndpoint: &control.Endpoint{Address: "127.0.0.1", Port: 7000},
		MemberClusters:        []string{"lb-0001-001", "lb-0001-002", "lb-0001-003"},
		NodeGroups: []control.NodeGroup{{
			ID: "0001", Status: control.Available, Slots: "0-5460,10923-16383",
			Members: []control.NodeGroupMember{
				{CacheClusterID: "lb-0001-001", Zone: "us-east-1a"}, {CacheClusterID: "lb-0001-002", Zone: "us-east-1b"},
			},
		}},
		AutomaticFailover: true, MultiAZ: true, NodeType: "cache.r6g.large", Engine: "redis",
		TransitEncryption: true, AuthToken: true, Resharding: aws.Float64(12.5),
	}
}

func disabledGroup() control.ReplicationGroup {
	return control.ReplicationGroup{
		ID: "single", Description: "one", Status: control.Available, Created: created,
		ARN:            "arn:aws:elasticache:us-east-1:000000000000:replicationgroup:single",
		MemberClusters: []string{"single-001", "single-002"},
		NodeGroups: []control.NodeGroup{{
			ID: "0001", Status: control.Available,
			PrimaryEndpoint: &control.Endpoint{Address: "127.0.0.1", Port: 7101},
			ReaderEndpoint:  &control.Endpoint{Address: "127.0.0.2", Port: 7102},
			Members: []control.NodeGroupMember{
				{CacheClusterID: "single-001", Zone: "us-east-1a", Role: "primary", ReadEndpoint: &control.Endpoint{Address: "127.0.0.1", Port: 7103}},
				{CacheClusterID: "single-002", Zone: "us-east-1b", Role: "replica", ReadEndpoint: &control.Endpoint{Address: "127.0.0.1", Port: 7104}},
			},
		}},
		NodeType: "cache.m5.large", Engine: "valkey",
	}
}

func node(id string) control.CacheCluster {
	return control.CacheCluster{
		ID: id, GroupID: "lb", Status: control.Rebooting, Created: created, NodeType: "cache.r6g.large", Engine: "redis",
		EngineVersion: "7.0.15", Zone: "us-east-1a", Endpoint: control.Endpoint{Address: "127.0.0.1", Port: 7001},
		ARN: "arn:aws:elasticache:us-east-1:000000000000:cluster:" + id, TransitEncryption: true, AuthToken: true,
	}
}

// local is an endpoint on loopback with its fakes, and the clients of AWS.
type local struct {
	plane   *fakePlane
	metrics *fakeMetrics
	server  *httptest.Server
	log     *lockedBuffer
}

func startLocal(t *testing.T) *local {
	t.Helper()
	l := &local{plane: &fakePlane{tags: map[string]string{}}, metrics: &fakeMetrics{}, log: &lockedBuffer{}}
	l.server = httptest.NewServer(newHandler(l.plane, l.metrics, l.log, func() time.Time { return present }))
	t.Cleanup(l.server.Close)
	return l
}

func (l *local) config() aws.Config {
	return aws.Config{
		Region:           "us-east-1",
		BaseEndpoint:     aws.String(l.server.URL),
		Credentials:      credentials.NewStaticCredentialsProvider("test", "test", ""),
		RetryMaxAttempts: 1,
		HTTPClient:       rankaws.WholeBody(awshttp.NewBuildableClient()),
	}
}

func (l *local) elasticache() *elasticache.Client { return elasticache.NewFromConfig(l.config()) }
func (l *local) cloudwatch() *cloudwatch.Client   { return cloudwatch.NewFromConfig(l.config()) }
func (l *local) cloudtrail() *cloudtrail.Client   { return cloudtrail.NewFromConfig(l.config()) }
func (l *local) sts() *sts.Client                 { return sts.NewFromConfig(l.config()) }

// send makes a raw request; headers are "Name: value".
func (l *local) send(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, l.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	response, err := l.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

const form = "Content-Type: application/x-www-form-urlencoded; charset=utf-8"

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
