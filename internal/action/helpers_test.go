package action_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

// away is where requests go that are not for loopback. Go reads HTTP_PROXY once in
// a process, so it is set before anything is sent.
var away *net.TCPListener

func TestMain(m *testing.M) {
	var err error
	if away, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		panic(err)
	}
	if err := os.Setenv("HTTP_PROXY", "http://"+away.Addr().String()); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	keyID  = "AKIDEXAMPLEEXAMPLE00"
	secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	token  = "IQoJb3JpZ2luX2VjEXAMPLETOKENEXAMPLETOKENEXAMPLETOKEN=="

	// startTakes and settles are for a crowded machine.
	startTakes = time.Minute
	settles    = 90 * time.Second
)

// setEnvironment lets nothing of the machine's AWS configuration through, and sets
// credentials that no text may show.
func setEnvironment(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it
			must(t, os.Unsetenv(name))
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	must(t, os.WriteFile(none, nil, 0o600))
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token,
	} {
		t.Setenv(name, value)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shape is that of a local ElastiCache.
type shape struct {
	shards, replicas int
	disabled         bool                     // cluster mode
	timings          map[string]time.Duration // over the quick ones
	modifying        bool                     // the status while it fails over
}

func (s shape) options(t *testing.T) local.Options {
	t.Helper()
	quick := map[string]time.Duration{
		"failover": 500 * time.Millisecond, "recovery-start": 200 * time.Millisecond, "rejoin": 200 * time.Millisecond,
		"recovery": 500 * time.Millisecond, "replica": 100 * time.Millisecond, "replica-removed": 100 * time.Millisecond,
	}
	for name, d := range s.timings {
		quick[name] = d
	}
	profile, err := control.NewProfile(control.Fast, 1, quick)
	must(t, err)
	auto, mode := true, "enabled"
	if s.disabled {
		mode = "disabled"
	}
	o := local.Options{
		Control: control.Options{Timings: profile, FullCoverage: true, NodeTimeout: 2 * time.Second},
		Group: control.CreateInput{
			ID: "lb", Description: "a test", ClusterMode: mode, NumNodeGroups: &s.shards, ReplicasPerGroup: &s.replicas,
			AutomaticFailover: &auto, MultiAZ: &auto, NodeType: "cache.r7g.large", Tags: map[string]string{"team": "ranking"},
		},
		Log: logger{t},
	}
	if s.modifying {
		o.Control.FailoverStatus = control.Modifying
	}
	return o
}

type logger struct{ t *testing.T }

func (l logger) Write(p []byte) (int, error) {
	l.t.Logf("%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// site is a local ElastiCache behind a weather, its nodes' samples, and an Env.
type site struct {
	t       *testing.T
	local   *local.Local
	weather *weather
	env     action.Env

	mu     sync.Mutex
	told   []result.Event
	notes  []string
	calls  []aws.Call // as recorded
	sample []result.NodeSample
}

// open starts a site, which ends with the test.
func open(t *testing.T, s shape) *site {
	t.Helper()
	clustertest.Require(t)
	setEnvironment(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTakes)
	defer cancel()
	l, err := local.Up(ctx, s.options(t))
	must(t, err)
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	x := &site{t: t, local: l, weather: newWeather(t, l.URL())}
	x.env = action.Env{
		AWS: x.client(x.weather.URL), Group: "lb", Slot: 0, Pid: x.pid, Note: x.note,
		Every: 100 * time.Millisecond, Nodes: x.nodes,
	}
	if s.disabled {
		x.env.Slot = -1
	}
	x.observe(s.disabled)
	x.console()
	t.Cleanup(x.noSecrets)
	return x
}

func (x *site) client(endpoint string) *aws.Client {
	x.t.Helper()
	c, err := aws.New(x.t.Context(), aws.Options{Region: "us-east-1", EndpointURL: endpoint, Record: func(call aws.Call) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.calls = append(x.calls, call)
	}})
	must(x.t, err)
	x.t.Cleanup(c.Close)
	return c
}

// background runs do until the test ends.
func (x *site) background(do func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { do(ctx) })
	x.t.Cleanup(func() { cancel(); wg.Wait() })
}

// observe samples the nodes, by the names that ElastiCache knows.
func (x *site) observe(disabled bool) {
	x.t.Helper()
	s, err := x.local.State()
	must(x.t, err)
	o := observe.Options{Cluster: !disabled}
	if disabled {
		o.Seeds, o.Resolver = []string{s.Primary, s.Reader}, resolver(s.Resolver)
	} else {
		o.Seeds = s.Addrs()[:1]
	}
	names := action.NewNames(x.env.AWS, "lb", o.Resolver)
	must(x.t, names.Learn(x.t.Context()))
	o.Name = names.Of
	observer, start := observe.New(o), time.Now()
	x.t.Cleanup(func() { _ = observer.Close() })
	now := func() time.Duration { return time.Since(start) }
	x.keep(observer.Sample(x.t.Context(), now))
	x.background(func(ctx context.Context) { names.Run(ctx, 200*time.Millisecond) })
	x.background(func(ctx context.Context) {
		observer.Watch(ctx, 200*time.Millisecond, now, x.keep, func(result.Event) {})
	})
}

func resolver(addr string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
}

// console reads the events from now on.
func (x *site) console() {
	x.t.Helper()
	x.env.Console = x.newConsole()
	must(x.t, x.env.Console.Prime(x.t.Context()))
	x.background(func(ctx context.Context) { x.env.Console.Run(ctx, x.env.Every) })
}

func (x *site) newConsole() *action.Console {
	x.t.Helper()
	g, err := x.env.AWS.Group(x.t.Context(), "lb")
	must(x.t, err)
	start := time.Now()
	return action.NewConsole(x.env.AWS, g, func(at time.Time) float64 { return at.Sub(start).Seconds() }, x.tell, x.note)
}

func (x *site) keep(nodes []result.NodeSample) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sample = nodes
}

func (x *site) nodes() []result.NodeSample {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sample
}

func (x *site) tell(e result.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = append(x.told, e)
}

func (x *site) note(format string, a ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notes = append(x.notes, fmt.Sprintf(format, a...))
}

// all are the events told so far, and said the notes.
func (x *site) all() []result.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.told)
}

func (x *site) said() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.notes)
}

// last is the newest note.
func (x *site) last() string {
	said := x.said()
	return said[len(said)-1]
}

// noted counts the notes that contain a text.
func (x *site) noted(text string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, note := range x.notes {
		if strings.Contains(note, text) {
			n++
		}
	}
	return n
}

// events counts the events told that contain a text.
func (x *site) events(text string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.told {
		if strings.Contains(e.Subject+": "+e.Message, text) {
			n++
		}
	}
	return n
}

// made counts the calls of a name.
func (x *site) made(name string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.calls {
		if c.Name == name {
			n++
		}
	}
	return n
}

func (x *site) noSecrets() {
	x.mu.Lock()
	defer x.mu.Unlock()
	text := fmt.Sprint(x.told, x.notes, x.calls)
	for _, s := range []string{keyID, secret, token} {
		if strings.Contains(text, s) {
			x.t.Error("a secret is in what was told")
		}
	}
}

// safe wants an error, without secrets.
func safe(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, s := range []string{keyID, secret, token} {
		if strings.Contains(err.Error(), s) {
			t.Error("a secret is in an error")
		}
	}
	return err.Error()
}

func (x *site) pid(id string) int {
	s, err := x.local.State()
	if err != nil {
		return 0
	}
	for _, n := range s.Nodes {
		if n.ID == id {
			return n.PID
		}
	}
	return 0
}

func (x *site) action(s scenario.Step) action.Action {
	x.t.Helper()
	a, err := action.New(s, x.env)
	must(x.t, err)
	return a
}

// done starts an action and waits for its end.
func (x *site) done(s scenario.Step) action.Action {
	x.t.Helper()
	a := x.action(s)
	must(x.t, a.Start(x.t.Context()))
	must(x.t, x.settle(a))
	return a
}

func (x *site) settle(a action.Action) error {
	ctx, cancel := context.WithTimeout(x.t.Context(), settles)
	defer cancel()
	return a.Settle(ctx)
}

func (x *site) restore(a action.Action) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), settles)
	defer cancel()
	must(x.t, a.Restore(ctx))
}

// layout is "0001: 3, 0002: 1": how many nodes each node group has, by ElastiCache,
// once the nodes themselves agree (their own word, not the observer's).
func (x *site) layout() string {
	x.t.Helper()
	g, err := x.env.AWS.Group(x.t.Context(), "lb")
	must(x.t, err)
	must(x.t, g.Available())
	var parts []string
	for _, s := range g.Shards {
		primaries := 0
		for _, m := range s.Members {
			if x.role(m.ID) == "master" {
				primaries++
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %d", s.ID, len(s.Members)))
		if primaries != 1 {
			x.t.Errorf("node group %s has %d primaries", s.ID, primaries)
		}
	}
	return strings.Join(parts, ", ")
}

func (x *site) expect(layout string) {
	x.t.Helper()
	if got := x.layout(); got != layout {
		x.t.Errorf("nodes by node group are %s, want %s", got, layout)
	}
}

// role asks a node over a connection of its own. It is a primary, or a replica
// whose link is up.
func (x *site) role(id string) string {
	x.t.Helper()
	s, err := x.local.State()
	must(x.t, err)
	for _, n := range s.Nodes {
		if n.ID != id {
			continue
		}
		rdb := redis.NewClient(&redis.Options{Addr: n.Addr, DisableIdentity: true})
		defer rdb.Close()
		reply, err := rdb.Do(x.t.Context(), "role").Slice()
		must(x.t, err)
		if reply[0] == "slave" && reply[3] != "connected" {
			x.t.Errorf("the link of %s is %v", id, reply[3])
		}
		return fmt.Sprint(reply[0])
	}
	x.t.Errorf("no node %s", id)
	return ""
}

// primary is the one of a node group, as the nodes say.
func (x *site) primary(shard string) (id string) {
	x.t.Helper()
	g, err := x.env.AWS.Group(x.t.Context(), "lb")
	must(x.t, err)
	s, _ := g.Shard(shard)
	for _, m := range s.Members {
		if x.role(m.ID) == "master" {
			id = m.ID
		}
	}
	return id
}

// eventually looks every 50 ms until check is content.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), settles)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

func (x *site) awaitEvent(text string) {
	x.t.Helper()
	eventually(x.t, func() error {
		if x.events(text) == 0 {
			return fmt.Errorf("no event %q", text)
		}
		return nil
	})
}

// awaitAvailable waits until ElastiCache says that all is well.
func (x *site) awaitAvailable() {
	x.t.Helper()
	eventually(x.t, func() error {
		g, err := x.env.AWS.Group(x.t.Context(), "lb")
		if err != nil {
			return err
		}
		return g.Available()
	})
}
