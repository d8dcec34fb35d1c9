package local_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	rankaws "github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// startTakes bounds a start, and settles an operation, on a crowded machine.
	startTakes = time.Minute
	settles    = 90 * time.Second
)

// quick are timings as short as they can be told apart.
func quick() map[string]time.Duration {
	return map[string]time.Duration{
		"failover": 500 * time.Millisecond, "recovery-start": 200 * time.Millisecond, "rejoin": 200 * time.Millisecond,
		"recovery": 500 * time.Millisecond, "replica": 100 * time.Millisecond, "replica-removed": 100 * time.Millisecond,
	}
}

// options are those of a local ElastiCache on random ports with one group, lb.
func options(t *testing.T, shards, replicas int, timings map[string]time.Duration) local.Options {
	t.Helper()
	profile, err := control.NewProfile(control.Fast, 1, timings)
	if err != nil {
		t.Fatal(err)
	}
	auto := true
	return local.Options{
		Control: control.Options{Timings: profile, FullCoverage: true, NodeTimeout: 2 * time.Second},
		Group: control.CreateInput{
			ID: "lb", Description: "test", ClusterMode: "enabled",
			NumNodeGroups: &shards, ReplicasPerGroup: &replicas, AutomaticFailover: &auto, MultiAZ: &auto,
		},
		Log: logger{t},
	}
}

type logger struct{ t *testing.T }

// memo is a logger that remembers.
type memo struct {
	logger
	mu   sync.Mutex
	said strings.Builder
}

func (m *memo) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said.Write(p)
	return m.logger.Write(p)
}

func (m *memo) want(text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(m.said.String(), text) {
		return fmt.Errorf("not said so far: %s", text)
	}
	return nil
}

func (l logger) Write(p []byte) (int, error) {
	l.t.Logf("%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// start runs a local ElastiCache until the test ends.
func start(t *testing.T, o local.Options) *local.Local {
	t.Helper()
	clustertest.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTakes)
	defer cancel()
	l, err := local.Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func stateOf(t *testing.T, l *local.Local) state.State {
	t.Helper()
	s, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sdk is the AWS SDK's configuration for l.
func sdk(t *testing.T, l *local.Local) aws.Config {
	t.Helper()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	c, err := awsconfig.LoadDefaultConfig(t.Context(),
		awsconfig.WithSharedConfigFiles(nil), awsconfig.WithSharedCredentialsFiles(nil),
		awsconfig.WithBaseEndpoint(l.URL()), awsconfig.WithRegion("us-east-1"), awsconfig.WithRetryMaxAttempts(1),
		awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	if err != nil {
		t.Fatal(err)
	}
	c.HTTPClient = rankaws.WholeBody(c.HTTPClient)
	return c
}

func elastiCache(t *testing.T, l *local.Local) *elasticache.Client {
	return elasticache.NewFromConfig(sdk(t, l))
}

// eventually looks every 50 ms until check is content.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v: %v", within, err)
		case <-tick.C:
		}
	}
}

// messages lists the events so far, oldest first, as "source: message".
func messages(t *testing.T, c *elasticache.Client) []string {
	t.Helper()
	var all []string
	pages := elasticache.NewDescribeEventsPaginator(c, &elasticache.DescribeEventsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			all = append([]string{aws.ToString(e.SourceIdentifier) + ": " + aws.ToString(e.Message)}, all...)
		}
	}
	return all
}

// awaitEvent waits until an event that contains text has come.
func awaitEvent(t *testing.T, c *elasticache.Client, text string) {
	t.Helper()
	eventually(t, settles, func() error {
		for _, m := range messages(t, c) {
			if strings.Contains(m, text) {
				return nil
			}
		}
		return fmt.Errorf("no event %q", text)
	})
}

// awaitIdle waits until the group and all its members are available.
func awaitIdle(t *testing.T, c *elasticache.Client, group string) {
	t.Helper()
	eventually(t, settles, func() error {
		out, err := c.DescribeReplicationGroups(t.Context(), &elasticache.DescribeReplicationGroupsInput{ReplicationGroupId: &group})
		if err != nil {
			return err
		}
		if s := aws.ToString(out.ReplicationGroups[0].Status); s != "available" {
			return fmt.Errorf("%s is %s", group, s)
		}
		nodes, err := c.DescribeCacheClusters(t.Context(), &elasticache.DescribeCacheClustersInput{})
		if err != nil {
			return err
		}
		for _, n := range nodes.CacheClusters {
			if aws.ToString(n.CacheClusterStatus) != "available" {
				return fmt.Errorf("%s is %s", aws.ToString(n.CacheClusterId), aws.ToString(n.CacheClusterStatus))
			}
		}
		return nil
	})
}

// client is a driver without retries, as a strict user has it, reading from
// replicas: every error shows.
func client(addrs []string) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, ReadOnly: true, DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ContextTimeoutEnabled: true, DisableIdentity: true,
	})
}
