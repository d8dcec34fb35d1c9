package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local"
)

const (
	awscliVersion = "1.46.2"
	boto3Version  = "1.44.5"
	// venvTakes bounds the installation from PyPI.
	venvTakes = 5 * time.Minute
)

// python returns the folder with the programs of a virtual environment that
// holds the AWS CLI and boto3. It is made once and kept in the user's cache.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(cache, "rankbench", fmt.Sprintf("awscli-%s-boto3-%s", awscliVersion, boto3Version))
	bin := filepath.Join(venv, "bin")
	if exec.Command(filepath.Join(bin, "aws"), "--version").Run() == nil {
		return bin
	}
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	makeVenv(t, venv)
	return bin
}

// makeVenv fails, and does not skip, where PyPI cannot be reached: a test of
// whether others can use this must not vanish.
func makeVenv(t *testing.T, venv string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), venvTakes)
	defer cancel()
	for _, words := range [][]string{
		{"python3", "-m", "venv", "--clear", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check",
			"awscli==" + awscliVersion, "boto3==" + boto3Version},
	} {
		t.Logf("running %s", strings.Join(words, " "))
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
}

// environment is what `rankbench local env` sets, and nothing else of AWS's.
func environment(l *local.Local) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "AWS_PAGER="}
	for _, service := range []string{"ELASTICACHE", "CLOUDWATCH", "CLOUDTRAIL", "STS"} {
		env = append(env, "AWS_ENDPOINT_URL_"+service+"="+l.URL())
	}
	return append(env, "AWS_DEFAULT_REGION=us-east-1", "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true")
}

// TestBoto3FindsAnElastiCache runs testdata/boto.py.
func TestBoto3FindsAnElastiCache(t *testing.T) {
	bin := python(t)
	l := start(t, options(t, 1, 1, quick()))
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), filepath.Join("testdata", "boto.py"))
	cmd.Env = environment(l)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// cli is the AWS CLI against one local ElastiCache.
type cli struct {
	t   *testing.T
	bin string
	l   *local.Local
}

// run runs one command and returns what it printed.
func (c cli) run(words ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.bin, "aws"), append(words, "--output", "json")...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(c.l), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// ok wants a command to succeed and decodes its answer.
func (c cli) ok(into any, words ...string) {
	c.t.Helper()
	stdout, stderr, err := c.run(words...)
	if err != nil {
		c.t.Fatalf("aws %s: %v\n%s", strings.Join(words, " "), err, stderr)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		c.t.Fatalf("aws %s: %v\n%s", strings.Join(words, " "), err, stdout)
	}
}

// refused wants a command to fail with AWS's code.
func (c cli) refused(code string, words ...string) {
	c.t.Helper()
	_, stderr, err := c.run(words...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(stderr, "An error occurred ("+code+")") {
		c.t.Errorf("aws %s: %v, want %s\n%s", strings.Join(words, " "), err, code, stderr)
	}
}

type groupsAnswer struct {
	ReplicationGroups []struct {
		Status         string
		MemberClusters []string
		NodeGroups     []struct{ NodeGroupID, Slots string }
	}
}

type eventsAnswer struct {
	Events []struct{ SourceIdentifier, Message, Date string }
}

// TestAWSCLIFindsAnElastiCache goes through the commands that people type.
func TestAWSCLIFindsAnElastiCache(t *testing.T) {
	timings := quick()
	timings["recovery"] = 5 * time.Second // a command takes up to a second to start
	c := cli{t, python(t), start(t, options(t, 1, 1, timings))}
	byURL := []string{"--endpoint-url", c.l.URL()}
	var groups groupsAnswer
	c.ok(&groups, append([]string{"elasticache", "describe-replication-groups"}, byURL...)...)
	if len(groups.ReplicationGroups) != 1 || groups.ReplicationGroups[0].NodeGroups[0].Slots != "0-16383" {
		t.Fatalf("groups: %+v", groups)
	}
	c.refused("NodeGroupNotFoundFault", "elasticache", "test-failover", "--replication-group-id", "lb", "--node-group-id", "0002")
	c.ok(nil, "elasticache", "test-failover", "--replication-group-id", "lb", "--node-group-id", "0001")
	c.refused("InvalidReplicationGroupState", "elasticache", "increase-replica-count", "--replication-group-id", "lb",
		"--new-replica-count", "2", "--apply-immediately")
	awaitEvent(t, elastiCache(t, c.l), "Finished recovery")
	awaitIdle(t, elastiCache(t, c.l), "lb")
	c.replicas()
	c.shards()
	c.events()
	c.figures()
}

// replicas adds one and removes it.
func (c cli) replicas() {
	c.ok(nil, "elasticache", "increase-replica-count", "--replication-group-id", "lb", "--apply-immediately",
		"--replica-configuration", "NodeGroupId=0001,NewReplicaCount=2")
	c.ok(nil, "elasticache", "wait", "replication-group-available", "--replication-group-id", "lb")
	c.ok(nil, "elasticache", "wait", "cache-cluster-available", "--cache-cluster-id", "lb-0001-003")
	c.ok(nil, "elasticache", "decrease-replica-count", "--replication-group-id", "lb", "--apply-immediately",
		"--replicas-to-remove", "lb-0001-003")
	awaitIdle(c.t, elastiCache(c.t, c.l), "lb")
	var groups groupsAnswer
	c.ok(&groups, "elasticache", "describe-replication-groups", "--replication-group-id", "lb")
	if got := strings.Join(groups.ReplicationGroups[0].MemberClusters, " "); got != "lb-0001-001 lb-0001-002" {
		c.t.Errorf("members: %s", got)
	}
}

// shards goes from one to two.
func (c cli) shards() {
	c.refused("InvalidReplicationGroupState", "elasticache", "modify-replication-group-shard-configuration",
		"--replication-group-id", "lb", "--node-group-count", "1", "--apply-immediately")
	c.ok(nil, "elasticache", "modify-replication-group-shard-configuration", "--replication-group-id", "lb",
		"--node-group-count", "2", "--apply-immediately")
	awaitIdle(c.t, elastiCache(c.t, c.l), "lb")
	var nodes struct {
		CacheClusters []struct {
			CacheClusterID string
			CacheNodes     []struct {
				Endpoint struct{ Port int }
			}
		}
	}
	c.ok(&nodes, "elasticache", "describe-cache-clusters", "--show-cache-node-info")
	if len(nodes.CacheClusters) != 4 || nodes.CacheClusters[3].CacheNodes[0].Endpoint.Port == 0 {
		c.t.Errorf("nodes: %+v", nodes)
	}
}

// events pages through them.
func (c cli) events() {
	var all, paged, few eventsAnswer
	c.ok(&all, "elasticache", "describe-events", "--duration", "60", "--max-items", "100")
	c.ok(&paged, "elasticache", "describe-events", "--page-size", "20")
	c.ok(&few, "elasticache", "describe-events", "--max-items", "3")
	if len(all.Events) <= 20 || fmt.Sprint(all.Events) != fmt.Sprint(paged.Events) || len(few.Events) != 3 {
		c.t.Errorf("%d events at once, %d by page, %d of 3", len(all.Events), len(paged.Events), len(few.Events))
	}
	c.refused("InvalidParameterCombination", "elasticache", "describe-events", "--source-identifier", "lb")
}

// figures asks CloudWatch and CloudTrail.
func (c cli) figures() {
	query := `[{"Id":"m","MetricStat":{"Metric":{"Namespace":"AWS/ElastiCache","MetricName":"CurrConnections",` +
		`"Dimensions":[{"Name":"CacheClusterId","Value":"lb-0001-001"},{"Name":"CacheNodeId","Value":"0001"}]},"Period":5,"Stat":"Average"}}]`
	var data struct {
		MetricDataResults []struct{ Values []float64 }
	}
	c.ok(&data, "cloudwatch", "get-metric-data", "--metric-data-queries", query,
		"--start-time", time.Now().Add(-5*time.Minute).UTC().Format(time.RFC3339), "--end-time", time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	if len(data.MetricDataResults) != 1 || len(data.MetricDataResults[0].Values) == 0 {
		c.t.Errorf("metric data: %+v", data)
	}
	var trail struct {
		Events []struct{ EventName, Username string }
	}
	c.ok(&trail, "cloudtrail", "lookup-events", "--lookup-attributes", "AttributeKey=EventName,AttributeValue=TestFailover")
	if len(trail.Events) != 2 {
		c.t.Errorf("calls of TestFailover: %+v, want the refused and the accepted", trail.Events)
	}
}
