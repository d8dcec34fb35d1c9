package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

// awsSecret is in the environment, and in no output.
const awsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

// elastiCache is a local one with a group lb of one primary and one replica.
func elastiCache(t *testing.T, mode string) *local.Local {
	t.Helper()
	clustertest.Require(t)
	profile, err := control.NewProfile(control.Fast, 1, map[string]time.Duration{
		"failover": 500 * time.Millisecond, "recovery-start": 200 * time.Millisecond, "rejoin": 200 * time.Millisecond,
		"recovery": 500 * time.Millisecond, "replica": 100 * time.Millisecond, "replica-removed": 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	one, auto := 1, true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := local.Up(ctx, local.Options{
		Control: control.Options{Timings: profile, FullCoverage: true, NodeTimeout: 2 * time.Second},
		Group: control.CreateInput{
			ID: "lb", Description: "a test", ClusterMode: mode, NumNodeGroups: &one, ReplicasPerGroup: &one,
			AutomaticFailover: &auto, MultiAZ: &auto, NodeType: "cache.r7g.large",
		},
		Log: testLog{t},
	})
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

// screen is what was printed.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// operation is one against l, whose nodes are known by what ElastiCache says only.
func operation(t *testing.T, l *local.Local, s scenario.Step) (run.Operation, *screen) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLEEXAMPLE00", "AWS_SECRET_ACCESS_KEY": awsSecret, "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	client, err := aws.New(t.Context(), aws.Options{Region: "us-east-1", EndpointURL: l.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	st, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	target := config.ForAddresses(st.Addrs()[:1])
	if !st.ClusterEnabled {
		target.Target = config.Target{Mode: config.Endpoints, Primary: st.Primary, Reader: st.Reader, Resolver: st.Resolver}
	}
	out := &screen{}
	return run.Operation{
		AWS:  run.AWS{Client: client, Group: "lb", Confirm: func(context.Context, action.Target, []action.Role) error { return nil }},
		Step: s, Settle: 90 * time.Second, Target: target, Out: out,
	}, out
}

// TestOperateWatchesAnOperationToItsEnd in both cluster modes.
func TestOperateWatchesAnOperationToItsEnd(t *testing.T) {
	for mode, node := range map[string]string{"enabled": "lb-0001-001", "disabled": "lb-001"} {
		t.Run(mode, func(t *testing.T) {
			l := elastiCache(t, mode)
			o, out := operation(t, l, scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
			var roles []action.Role
			o.Confirm = func(_ context.Context, _ action.Target, said []action.Role) error { roles = said; return nil }
			if err := run.Operate(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if len(roles) != 2 || roles[0] != (action.Role{Node: node, Role: "primary"}) {
				t.Errorf("roles to confirm: %v", roles)
			}
			t.Log(out)
			for _, want := range []string{
				"elasticache  lb            Test Failover API called for node group 0001",
				"elasticache  " + node + " *Finished recovery for cache nodes 0001", "rankbench .* done: everything is healthy",
			} {
				if n := len(regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d  `+want+`$`).FindAllString(out.String(), -1)); n != 1 {
					t.Errorf("printed %d times: %s", n, want)
				}
			}
			seen, after, err := run.LookAt(t.Context(), o.AWS, o.Target, nil)
			if err != nil || seen.Group.ID != "lb" || len(after) != 2 || after[0] != (action.Role{Node: node, Role: "replica"}) {
				t.Errorf("%v, then %v (%v)", roles, after, err)
			}
			if strings.Contains(out.String(), awsSecret) {
				t.Error("a secret was printed")
			}
		})
	}
}

// TestOperateEndsAsItShould: refused, not confirmed, not done in time, interrupted.
func TestOperateEndsAsItShould(t *testing.T) {
	l := elastiCache(t, "enabled")
	for _, row := range []struct {
		name    string
		step    scenario.Step
		change  func(*run.Operation)
		within  time.Duration // of the whole, if not 0
		code    int
		want    string
		printed string
	}{
		{name: "refused", step: scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0004"}, code: fail.CodeFailed, want: "refused, nothing was changed: step 1, test_failover: replication group lb has no node group 0004"},
		{name: "no group", step: scenario.Step{Kind: scenario.TestFailover}, change: func(o *run.Operation) { o.Group = "none" }, code: fail.CodeFailed, want: "ReplicationGroupNotFoundFault"},
		{name: "not confirmed", step: scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"}, code: fail.CodeUsage, want: "no", change: func(o *run.Operation) {
			o.Confirm = func(context.Context, action.Target, []action.Role) error {
				return fail.WithCode(errors.New("no"), fail.CodeUsage)
			}
		}},
		{name: "a primary", step: scenario.Step{Kind: scenario.DecreaseReplicas, Nodes: []string{"lb-0001-001"}}, code: fail.CodeFailed, want: "decrease_replicas: refused: Decrease Replica count operation failed", printed: "masters: lb-0001-001"},
		{name: "too long", step: scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2}, change: func(o *run.Operation) { o.Settle = 50 * time.Millisecond }, code: fail.CodeFailed,
			want: "increase_replicas: not done within 50ms: context deadline exceeded: ", printed: "Increase replica count started"},
		{name: "interrupted", step: scenario.Step{Kind: scenario.Wait, For: time.Hour}, within: 2 * time.Second, code: fail.CodeInterrupted, want: "interrupted; "},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, out := operation(t, l, row.step)
			awaitGroup(t, o.Client)
			if row.change != nil {
				row.change(&o)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.within > 0 {
				time.AfterFunc(row.within, cancel)
			}
			err := run.Operate(ctx, o)
			if err == nil || fail.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), awsSecret) {
				t.Errorf("code %d, error %v", fail.CodeOf(err), err)
			}
			if !strings.Contains(out.String(), row.printed) {
				t.Errorf("printed:\n%s", out)
			}
		})
	}
}

// awaitGroup waits until nothing goes on.
func awaitGroup(t *testing.T, c *aws.Client) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		g, err := c.Group(ctx, "lb")
		if err == nil {
			err = g.Available()
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("the group is not available: %w", err))
		case <-tick.C:
		}
	}
}
