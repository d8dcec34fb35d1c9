package target_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/target"
)

// kind is one kind of backend, as a config makes it.
type kind struct {
	mode, readFrom, profile string
}

func (k kind) String() string { return fmt.Sprintf("%s/%s/%s", k.mode, k.readFrom, k.profile) }

var kinds = []kind{
	{config.Cluster, config.Replica, config.Tuned},
	{config.Cluster, config.Random, config.Tuned},
	{config.Cluster, config.Nearest, config.Tuned},
	{config.Cluster, config.Primary, config.Tuned},
	{config.Cluster, config.Replica, config.DriverDefaults},
	{config.Cluster, config.Random, config.DriverDefaults},
	{config.Cluster, config.Replica, config.Raw},
	{config.Standalone, config.Replica, config.Tuned},
	{config.Standalone, config.Replica, config.DriverDefaults},
	{config.Standalone, config.Replica, config.Raw},
	{config.Endpoints, config.Replica, config.Tuned},
	{config.Endpoints, config.Primary, config.Tuned},
	{config.Endpoints, config.Replica, config.DriverDefaults},
	{config.Endpoints, config.Replica, config.Raw},
}

// servers are real servers of one shape, shared by the kinds that fit them.
type servers struct {
	cluster *cluster.Cluster
	addrs   []string // the primary first
	primary *redis.Client
	all     map[string]*redis.Client
}

func startServers(t *testing.T, o cluster.Options) servers {
	t.Helper()
	c := clustertest.Start(t, o)
	all := directs(t, c)
	return servers{c, c.Addrs(), all[c.Addrs()[0]], all}
}

func (s servers) config(k kind) *config.Config {
	cfg := &config.Config{
		Target: config.Target{Mode: k.mode},
		Client: config.Client{Profile: k.profile, ReadFrom: k.readFrom},
	}
	switch k.mode {
	case config.Cluster:
		cfg.Target.Addresses = s.addrs
	case config.Standalone:
		cfg.Target.Addresses = s.addrs[:1]
	default:
		cfg.Target.Primary, cfg.Target.Reader = s.addrs[0], s.addrs[1]
	}
	return cfg
}

// subject is one kind of backend at work on its own ranking.
type subject struct {
	kind
	servers
	key    string
	model  model
	client *target.Client
	worker *target.Worker
}

func TestOperationsOnEveryKindOfBackend(t *testing.T) {
	t.Parallel()
	shapes := map[string]servers{
		config.Cluster:    startServers(t, cluster.Options{Replicas: 2}),
		config.Standalone: startServers(t, cluster.Options{Standalone: true}),
		config.Endpoints:  startServers(t, cluster.Options{Standalone: true, Replicas: 1}),
	}
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			s := &subject{kind: k, servers: shapes[k.mode], key: "conformance:" + k.String()}
			s.model = newModel(t, s.key, s.primary, s.all)
			s.client = open(t, s.config(k), s.key, 2)
			if err := s.client.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.worker = s.client.Worker(0)
			t.Run("replies", s.replies)
			t.Run("missing", s.missing)
			t.Run("commands", s.commands)
			t.Run("one node a find", s.oneNodeAFind)
			t.Run("sets", s.sets)
		})
	}
}

// replies compares every member and every page with the model.
func (s *subject) replies(t *testing.T) {
	names := slices.Sorted(maps.Keys(s.model))
	for _, m := range names {
		s.expect(t, ranking.Op{Kind: ranking.Get, Member: m}, s.model.get(m, 1))
	}
	for _, n := range []int{1, 7, modelMembers} { // of changing sizes: commands are made anew
		for from := 0; from+n <= len(names); from += 97 {
			op := ranking.Op{Kind: ranking.Find, Members: names[from : from+n], Count: n}
			s.expect(t, op, s.model.get(names[from], n))
		}
	}
	for _, n := range []int{1, 10, modelMembers} {
		for start := int64(0); start+int64(n) <= modelMembers; start++ {
			s.expect(t, ranking.Op{Kind: ranking.FindByOrder, Start: start, Count: n}, s.model.page(start, n))
		}
	}
}

func (s *subject) expect(t *testing.T, op ranking.Op, want ranking.Reply) {
	t.Helper()
	if got := do(t, s.worker, op); got != want {
		t.Fatalf("%v %q %v start %d count %d: %+v, want %+v", op.Kind, op.Member, op.Members, op.Start, op.Count, got, want)
	}
}

// missing: an answer without a member that must be there is of class Missing,
// in any place, and the worker is none the worse for it.
func (s *subject) missing(t *testing.T) {
	some := slices.Sorted(maps.Keys(s.model))[:3]
	for name, op := range map[string]ranking.Op{
		"get":               {Kind: ranking.Get, Member: "nobody"},
		"find, first":       {Kind: ranking.Find, Members: []string{"nobody", some[0], some[1]}, Count: 3},
		"find, last":        {Kind: ranking.Find, Members: []string{some[0], some[1], "nobody"}, Count: 3},
		"page over the end": {Kind: ranking.FindByOrder, Start: modelMembers - 3, Count: 4},
		"page behind it":    {Kind: ranking.FindByOrder, Start: modelMembers, Count: 1},
	} {
		r, err := s.worker.Do(t.Context(), &op)
		if class := target.Classify(err); class != load.Missing || r.Found {
			t.Errorf("%s: %+v, class %v (%v), want missing", name, r, class, err)
		}
	}
	s.expect(t, ranking.Op{Kind: ranking.Find, Members: some, Count: 3}, s.model.get(some[0], 3))
	s.expect(t, ranking.Op{Kind: ranking.Get, Member: some[2]}, s.model.get(some[2], 1))
}

// commands: the servers count exactly what ranking.Kind.Commands promises, on
// the nodes that the config names, and the driver's hooks count the same. The
// client is new: what it says on new connections is not the load's.
func (s *subject) commands(t *testing.T) {
	const times, n = 40, 6
	client := open(t, s.config(s.kind), s.key, 2)
	worker := client.Worker(0)
	names := slices.Sorted(maps.Keys(s.model))
	for _, op := range []ranking.Op{
		{Kind: ranking.Set, Member: names[0], Score: s.model[names[0]]}, // changes nothing, but is a command
		{Kind: ranking.Get, Member: names[1]},
		{Kind: ranking.Find, Members: names[:n], Count: n},
		{Kind: ranking.FindByOrder, Start: 11, Count: n},
	} {
		before, hooks := callsOf(t, s.all), client.Drivers()
		for range times {
			do(t, worker, op)
		}
		per := op.Kind.Commands(n)
		want := calls{
			zadd: int64(times * per["zadd"]), zscore: int64(times * per["zscore"]),
			zcount: int64(times * per["zcount"]), zrevrange: int64(times * per["zrevrange"]),
		}
		s.expectCalls(t, op.Kind, want, differences(callsOf(t, s.all), before), client.Drivers(), hooks)
	}
}

func (s *subject) expectCalls(t *testing.T, k ranking.Kind, want calls, got map[string]calls, hooks, hooksBefore map[string]result.DriverSample) {
	t.Helper()
	var sum calls
	for addr, c := range got {
		if addr != s.addrs[0] {
			c.zadd = 0 // a ZADD there is what the primary has passed on: what a client sends is rejected
		}
		sum = sum.plus(c)
		if !s.mayRead(addr) && c.reads() > 0 {
			t.Errorf("%v: %d reads on %s, which is not to be read from", k, c.reads(), addr)
		}
		sent := int64(hooks[addr].Attempts - hooksBefore[addr].Attempts)
		if counted := c.zadd + c.reads(); sent != counted {
			t.Errorf("%v: the driver sent %d commands to %s, which counted %d", k, sent, addr, counted)
		}
		if hooks[addr].Errors != hooksBefore[addr].Errors {
			t.Errorf("%v: %d errors on %s", k, hooks[addr].Errors-hooksBefore[addr].Errors, addr)
		}
	}
	if sum != want {
		t.Errorf("%v: the servers counted %+v, want %+v", k, sum, want)
	}
}

// mayRead says whether reads of this kind of backend go to a node.
func (s *subject) mayRead(addr string) bool {
	switch {
	case s.readFrom == config.Primary, len(s.addrs) == 1:
		return addr == s.addrs[0]
	case s.readFrom == config.Replica: // and the reader endpoint
		return addr != s.addrs[0]
	default:
		return true
	}
}

func (s *subject) oneNodeAFind(t *testing.T) {
	const n = 5
	names := slices.Sorted(maps.Keys(s.model))[:n]
	used := map[string]bool{}
	before := callsOf(t, s.all)
	for range 20 {
		do(t, s.worker, ranking.Op{Kind: ranking.Find, Members: names, Count: n})
		after := callsOf(t, s.all)
		for addr, d := range differences(after, before) {
			switch (calls{zscore: d.zscore, zcount: d.zcount}) {
			case calls{}:
			case calls{zscore: n, zcount: n}:
				used[addr] = true
			default:
				t.Errorf("%s served a part of a find: %+v", addr, d)
			}
		}
		before = after
	}
	// 20 draws of two or more nodes by chance: all alike once in 500,000 runs.
	if spread := s.mode == config.Cluster && (s.readFrom == config.Replica || s.readFrom == config.Random); spread && len(used) < 2 {
		t.Errorf("all finds went to %v", used)
	}
}

// sets: what is set is found, by everybody.
func (s *subject) sets(t *testing.T) {
	names := slices.Sorted(maps.Keys(s.model))
	before := callsOf(t, s.all)
	scores := []float64{0.5, 16.5, 3.25, 1e15, -4, 0.1, 12345.678901} // none as it was: that would not be replicated
	for i, score := range scores {
		if r := do(t, s.worker, ranking.Op{Kind: ranking.Set, Member: names[i], Score: score}); !r.Found {
			t.Errorf("reply %+v", r)
		}
		s.model[names[i]] = score
	}
	s.model.await(t, s.key, s.all)
	for addr, d := range differences(callsOf(t, s.all), before) {
		if d.zadd != int64(len(scores)) || d.rejected != 0 {
			t.Errorf("%s: %d ZADDs and %d rejected commands, want %d (sent or replicated) and 0", addr, d.zadd, d.rejected, len(scores))
		}
	}
	for _, m := range names[:len(scores)] {
		s.expect(t, ranking.Op{Kind: ranking.Get, Member: m}, s.model.get(m, 1))
	}
}
