package action_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/scenario"
)

// refusal is a preflight that must be refused, with all of the reasons.
type refusal struct {
	name  string
	aws   config.AWS
	steps []scenario.Step
	edit  func(string) string // of AWS's answers
	env   func(*action.Env)
	want  []string
}

func step(kind string) scenario.Step { return scenario.Step{Kind: kind} }

var refusals = []refusal{
	{name: "not on the list", aws: config.AWS{Allow: []string{"staging-*", "test"}}, want: []string{"group lb is not on the config's list aws.allow (staging-*, test)"}},
	{name: "no such tag", aws: config.AWS{AllowTag: "drill=yes"}, want: []string{"group lb has not the tag drill=yes"}},
	{name: "another value", aws: config.AWS{AllowTag: "team=payment"}, want: []string{"group lb has not the tag team=payment"}},
	{name: "neither", aws: config.AWS{Allow: []string{"test"}, AllowTag: "drill=yes"}, want: []string{"aws.allow (test)", "the tag drill=yes"}},
	{name: "global", edit: replace("<AutomaticFailover>", "<GlobalReplicationGroupInfo><GlobalReplicationGroupId>world</GlobalReplicationGroupId></GlobalReplicationGroupInfo><AutomaticFailover>"),
		want: []string{"global datastore world"}},
	{name: "pending", edit: replace("<AutomaticFailover>", "<PendingModifiedValues><PrimaryClusterId>x</PrimaryClusterId></PendingModifiedValues><AutomaticFailover>"),
		want: []string{"changes of lb are pending: PrimaryClusterId"}},
	{name: "no failover", steps: []scenario.Step{{Kind: scenario.TestFailover}, {Kind: scenario.TestFailover, NodeGroup: "0009"}},
		edit: replace("<AutomaticFailover>enabled", "<AutomaticFailover>disabled", "<MultiAZ>enabled", "<MultiAZ>disabled"),
		want: []string{"step 1, test_failover: automatic failover of lb is disabled", "Multi-AZ of lb is disabled", "step 2, test_failover: ", "replication group lb has no node group 0009"}},
	{name: "unknown", steps: []scenario.Step{{Kind: scenario.IncreaseReplicas, NodeGroup: "0003", Count: 2}, {Kind: scenario.DecreaseReplicas, NodeGroup: "0004"}},
		want: []string{"step 1, increase_replicas: replication group lb has no node group 0003"}},
	{name: "unknown nodes", steps: []scenario.Step{{Kind: scenario.Kill, Nodes: []string{"lb-0007-001"}}, {Kind: scenario.Hang, NodeGroup: "0008", Role: "primary"}, {Kind: scenario.DecreaseReplicas, Nodes: []string{"a", "lb-0001-002", "b"}}},
		want: []string{"step 1, kill: replication group lb has no node lb-0007-001", "step 2, hang: replication group lb has no node group 0008", "step 3, decrease_replicas: replication group lb has no node a", "has no node b"}},
	{name: "no change of replicas", steps: []scenario.Step{{Kind: scenario.IncreaseReplicas, Count: 1}}, want: []string{"the replicas are 0001: 1 now"}},
	{name: "the wrong way", steps: []scenario.Step{{Kind: scenario.DecreaseReplicas, NodeGroup: "0001", Count: 2}}, want: []string{"which is 2"}},
	{name: "fewer shards to add", steps: []scenario.Step{{Kind: scenario.AddShards, Count: 1}}, want: []string{"step 1, add_shards: there are 1 node groups now"}},
	{name: "more shards to remove", steps: []scenario.Step{{Kind: scenario.RemoveShards, Count: 2, Nodes: []string{"0005"}}}, want: []string{"there are 1 node groups now", "has no node group 0005"}},
	{name: "no cluster mode", steps: []scenario.Step{step(scenario.AddShards)}, edit: replace("<ClusterEnabled>true", "<ClusterEnabled>false"), want: []string{"cluster mode is disabled"}},
	{name: "reboot", steps: []scenario.Step{step(scenario.Reboot)}, want: []string{"step 1, reboot: ElastiCache reboots no node with cluster mode enabled"}},
	{name: "not local", steps: []scenario.Step{step(scenario.Wait), step(scenario.Kill), step(scenario.Hang), step(scenario.Resume)}, env: func(e *action.Env) { e.Pid = nil },
		want: []string{"step 2, kill: only the nodes of a local", "step 3, hang: only", "step 4, resume: only"}},
	{name: "no tags", aws: config.AWS{AllowTag: "team=ranking"}, edit: replace("<ListTagsForResourceResult>", "<Nonsense>"), want: []string{"list the tags of "}},
	{name: "slot elsewhere", steps: []scenario.Step{step(scenario.TestFailover)}, edit: replace("0-16383", "0-1"), env: func(e *action.Env) { e.Slot = 5 }, want: []string{"no node group of lb has slot 5"}},
}

// TestPreflightRefusesAndChangesNothing holds it to every reason there is.
func TestPreflightRefusesAndChangesNothing(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1, timings: map[string]time.Duration{"rejoin": 6 * time.Second, "recovery": 6 * time.Second}})
	trail, err := x.env.AWS.Trail(t.Context(), time.Time{})
	must(t, err)
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) { x.refuses(t, r) })
	}
	t.Run("in order", x.passes)
	t.Run("quota", x.quota)
	t.Run("a node hangs", x.nodeHangs)
	after, err := x.env.AWS.Trail(t.Context(), time.Time{})
	must(t, err)
	if len(after) != len(trail) || len(x.calls) != 0 {
		t.Errorf("CloudTrail has %d calls, had %d; %d were recorded", len(after), len(trail), len(x.calls))
	}
	t.Run("no replica", x.noReplica)
	t.Run("goes on", x.goesOn)
}

func (x *site) refuses(t *testing.T, r refusal) {
	t.Helper()
	e := x.env
	if r.env != nil {
		r.env(&e)
	}
	x.weather.set(func(w *weather) { w.edit = r.edit })
	defer x.weather.set(func(w *weather) { w.edit = nil })
	target, err := action.Preflight(t.Context(), e, r.aws, r.steps, 1)
	text := safe(t, err)
	for _, want := range append(r.want, "refused, nothing was changed: ") {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %s\nsaid: %s", want, text)
		}
	}
	if fail.HintOf(err) == "" || target.Group.ID != "lb" || target.Place.Account == "" {
		t.Errorf("hint %q, target %+v", fail.HintOf(err), target)
	}
}

// passes: what can be done is not refused, what earlier steps make possible neither.
func (x *site) passes(t *testing.T) {
	target, err := action.Preflight(t.Context(), x.env, config.AWS{Allow: []string{"l?"}, AllowTag: "team=ranking"}, []scenario.Step{
		step(scenario.TestFailover), {Kind: scenario.Kill, Role: "replica"}, {Kind: scenario.Wait, For: time.Second},
		{Kind: scenario.IncreaseReplicas, Count: 2}, {Kind: scenario.DecreaseReplicas, Nodes: []string{"lb-0001-003"}},
		{Kind: scenario.AddShards, Count: 2}, {Kind: scenario.TestFailover, NodeGroup: "0002"}, {Kind: scenario.RemoveShards, Count: 1},
	}, 1)
	must(t, err)
	var text strings.Builder
	must(t, target.Text(&text, x.env.Roles()))
	for _, want := range []string{
		"a local ElastiCache: " + x.weather.URL + ", account 000000000000, region us-east-1", "group lb: available",
		"0 failovers were tested", "node group 0001: available, slots 0-16383", "lb-0001-001  available    primary", "lb-0001-002  available    replica",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("not shown: %s\nshown: %s", want, text.String())
		}
	}
	for _, s := range []string{keyID, secret, token} {
		if strings.Contains(text.String(), s) {
			t.Error("a secret is shown")
		}
	}
}

// kept is a listener that can be served on again.
type kept struct{ *net.TCPListener }

func (k kept) Close() error { return k.SetDeadline(time.Now()) }

// quota: what is not on loopback has AWS's. It is reached through a proxy.
func (x *site) quota(t *testing.T) {
	proxy := &http.Server{Handler: x.weather, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	must(t, away.SetDeadline(time.Time{}))
	go func() { ended <- proxy.Serve(kept{away}) }()
	defer func() { _ = proxy.Close(); <-ended }()
	t.Setenv("AWS_ENDPOINT_URL", "http://elasticache.rankbench.test")
	e := x.env
	e.AWS = x.client("")
	var called strings.Builder
	for i := range 14 {
		called.WriteString("<Event><SourceIdentifier>other</SourceIdentifier><SourceType>replication-group</SourceType><Message>Test Failover API called for node group 0001</Message><Date>" +
			time.Now().Add(-time.Duration(i)*time.Minute).UTC().Format(time.RFC3339) + "</Date></Event>")
	}
	x.weather.set(func(w *weather) {
		w.edit = replace("<Events>", "<Events>"+called.String(), "<Events/>", "<Events>"+called.String()+"</Events>")
	})
	defer x.weather.set(func(w *weather) { w.edit = nil })
	target, err := action.Preflight(t.Context(), e, config.AWS{}, []scenario.Step{step(scenario.TestFailover)}, 1)
	if err != nil || target.Place.Loopback || target.Failovers != 14 {
		t.Errorf("the 15th: %v, %+v", err, target.Place)
	}
	_, err = action.Preflight(t.Context(), e, config.AWS{}, []scenario.Step{step(scenario.TestFailover), step(scenario.TestFailover)}, 1)
	if text := safe(t, err); !strings.Contains(text, "14 failovers were tested in this account within 24 hours, 2 more are asked for, and ElastiCache allows 15") {
		t.Errorf("error %s", text)
	}
	_, err = action.Preflight(t.Context(), e, config.AWS{}, []scenario.Step{{Kind: scenario.IncreaseReplicas, Count: 2}}, 1)
	must(t, err)
}

// nodeHangs: ElastiCache does not know it, the nodes' samples do.
func (x *site) nodeHangs(t *testing.T) {
	pid := x.pid("lb-0001-002")
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() {
		must(t, syscall.Kill(pid, syscall.SIGCONT))
		eventually(t, func() error {
			_, err := action.Preflight(t.Context(), x.env, config.AWS{}, []scenario.Step{step(scenario.TestFailover)}, 1)
			return err
		})
	}()
	x.awaitSilent(t, "lb-0001-002")
	x.refuses(t, refusal{steps: []scenario.Step{step(scenario.TestFailover)}, want: []string{
		"lb-0001-002 does not answer", "step 1, test_failover: node group 0001 has no replica that follows its primary"}})
}

func (x *site) noReplica(t *testing.T) {
	a := x.done(scenario.Step{Kind: scenario.DecreaseReplicas, Count: 0, Restore: true})
	none := []string{"step 1, test_failover: node group 0001 has no replica"}
	x.refuses(t, refusal{steps: []scenario.Step{step(scenario.TestFailover)}, want: none})
	x.refuses(t, refusal{steps: []scenario.Step{step(scenario.TestFailover)}, want: none, env: func(e *action.Env) { e.Nodes = nil }})
	_, err := action.Preflight(t.Context(), x.env, config.AWS{}, []scenario.Step{{Kind: scenario.IncreaseReplicas, Count: 1}, step(scenario.TestFailover)}, 1)
	must(t, err)
	x.restore(a)
}

// goesOn: an operation, and a member that is down for good.
func (x *site) goesOn(t *testing.T) {
	must(t, x.started(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2}).Restore(t.Context()))
	x.refuses(t, refusal{want: []string{"lb is modifying", "lb-0001-003 is creating", "lb-0001-003 does not answer"}})
	x.awaitAvailable()
	before := x.pid("lb-0001-003")
	must(t, syscall.Kill(before, syscall.SIGKILL))
	x.awaitSilent(t, "lb-0001-003")
	x.refuses(t, refusal{want: []string{"lb-0001-003 does not answer"}})
}
