package keep_test

import (
	"io"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
)

func localOptions(t *testing.T) local.Options {
	t.Helper()
	clustertest.Require(t)
	profile, err := control.NewProfile(control.Fast, 1, map[string]time.Duration{"create": 0})
	if err != nil {
		t.Fatal(err)
	}
	one, auto := 1, true
	return local.Options{
		Control: control.Options{Timings: profile, FullCoverage: true, NodeTimeout: 2 * time.Second},
		Group:   control.CreateInput{ID: "lb", ClusterMode: "enabled", NumNodeGroups: &one, ReplicasPerGroup: &one, AutomaticFailover: &auto},
	}
}

func up(t *testing.T, o local.Options) *local.Local {
	t.Helper()
	l, err := local.Up(t.Context(), o)
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

// create creates a group through the API and waits until it is available.
func create(t *testing.T, l *local.Local, parameters url.Values) {
	t.Helper()
	parameters.Set("Action", "CreateReplicationGroup")
	parameters.Set("Version", "2015-02-02")
	resp, err := http.PostForm(l.URL(), parameters)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s", resp.Status, said)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		g := stateOf(t, l).Groups[1]
		if g.Status == control.Available {
			return
		}
		if g.Status != control.Creating || g.Busy == "" {
			t.Fatalf("while it is created: %+v", g)
		}
		select {
		case <-deadline:
			t.Fatal("it is not created")
		case <-tick.C:
		}
	}
}

func sources(s state.State) []keep.Source {
	var all []keep.Source
	for _, g := range s.Groups {
		all = append(all, keep.Source{Group: g, Nodes: s.NodesOf(g.ID)})
	}
	return all
}

// shape is the groups without what changes each time.
func shape(s state.State) []state.Group {
	for i := range s.Groups {
		s.Groups[i].CAFile = ""
	}
	return s.Groups
}

func TestALocalElastiCacheComesBackWithAllItsGroups(t *testing.T) {
	old := up(t, localOptions(t))
	create(t, old, url.Values{
		"ReplicationGroupId": {"another"}, "ReplicationGroupDescription": {"by the API"},
		"CacheNodeType": {"cache.m7g.large"}, "NumNodeGroups": {"2"}, "ReplicasPerNodeGroup": {"0"},
		"AutomaticFailoverEnabled": {"true"}, "CacheParameterGroupName": {"default.redis7.cluster.on"},
		"Tags.Tag.1.Key": {"team"}, "Tags.Tag.1.Value": {"games"},
	})
	before, dir := stateOf(t, old), t.TempDir()
	for _, n := range before.Nodes {
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{n.Addr}, DisableIdentity: true})
		rdb.Set(t.Context(), "who", n.Group, 0)
		rdb.Close()
	}
	if _, err := keep.Save(t.Context(), dir, sources(before), io.Discard, still); err != nil {
		t.Fatal(err)
	}
	k, err := keep.Open(dir)
	if err != nil || len(k.Groups) != 2 || k.Groups[0].ID != "lb" {
		t.Fatalf("kept %+v (%v)", k.Groups, err)
	}
	if err := old.Stop(); err != nil {
		t.Fatal(err)
	}
	o := localOptions(t)
	o.Group, o.Kept = local.CreateInput(k.Groups[0].Group), &k
	after := stateOf(t, up(t, o))
	if !reflect.DeepEqual(shape(after), shape(before)) {
		t.Errorf("groups %+v, want %+v", after.Groups, before.Groups)
	}
	if g := after.Groups[1]; g.Shards != 2 || g.Tags["team"] != "games" || g.NodeType != "cache.m7g.large" {
		t.Errorf("the group of the API: %+v", g)
	}
	expectOwnKey(t, after)
}

// expectOwnKey checks that the first group has its key and not another's.
func expectOwnKey(t *testing.T, s state.State) {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs(), DisableIdentity: true})
	defer rdb.Close()
	if v := rdb.Get(t.Context(), "who").Val(); v != "lb" {
		t.Errorf("lb's key says %q", v)
	}
}
