//go:build unix

package observe_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/dns"
	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits for what must happen; on a busy machine it takes longer than one thinks.
const patience = 45 * time.Second

func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func newObserver(t *testing.T, o observe.Options) *observe.Observer {
	t.Helper()
	obs := observe.New(o)
	t.Cleanup(func() {
		if err := obs.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return obs
}

// namer names nodes as the cluster does.
func namer(c *cluster.Cluster) func(string) string {
	names := map[string]string{}
	for _, n := range c.Nodes() {
		names[n.Addr] = n.ID
	}
	return func(addr string) string { return names[addr] }
}

func nodeIDs(c *cluster.Cluster) (ids []string) {
	for _, n := range c.Nodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

// until samples round after round until ok says so.
func until(t *testing.T, obs *observe.Observer, ok func([]result.NodeSample) bool) []result.NodeSample {
	t.Helper()
	now, deadline := clock(), time.Now().Add(patience)
	for {
		got := obs.Sample(t.Context(), now)
		if ok(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in %v; last: %+v", patience, got)
		}
	}
}

func allUp(samples []result.NodeSample) bool {
	return !slices.ContainsFunc(samples, func(s result.NodeSample) bool { return !s.Up || s.Role == "replica" && s.Link != "up" })
}

func byID(t *testing.T, samples []result.NodeSample, id string) result.NodeSample {
	t.Helper()
	i := slices.IndexFunc(samples, func(s result.NodeSample) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("no node %s in %+v", id, samples)
	}
	return samples[i]
}

func ids(samples []result.NodeSample) (ids []string) {
	for _, s := range samples {
		ids = append(ids, s.ID)
	}
	return ids
}

func clientOf(t *testing.T, addr, password string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, Password: password, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOneSeedLeadsToTheWholeClusterInTheFirstRound(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1})
	_, port, _ := net.SplitHostPort(c.Addrs()[0])
	for _, seed := range []string{c.Addrs()[0], c.Addrs()[5], net.JoinHostPort("localhost", port)} {
		obs := newObserver(t, observe.Options{Seeds: []string{seed}, Cluster: true, Name: namer(c), Timeout: 5 * time.Second})
		got := obs.Sample(t.Context(), clock())
		want := []string{"lb-0001-001", "lb-0001-002", "lb-0002-001", "lb-0002-002", "lb-0003-001", "lb-0003-002"}
		if !slices.Equal(ids(got), want) {
			t.Fatalf("from %s: nodes %v, want %v", seed, ids(got), want)
		}
		for i, n := range c.Nodes() {
			checkNode(t, got[i], n, c.Nodes()[i/2*2].Addr)
		}
	}
}

func checkNode(t *testing.T, s result.NodeSample, n cluster.Node, primary string) {
	t.Helper()
	role := "replica"
	if n.Primary {
		role, primary = "primary", ""
	}
	if !s.Up || s.Addr != n.Addr || s.Role != role || s.PrimaryAddr != primary {
		t.Errorf("%s: got %+v, want %s at %s of %q", n.ID, s, role, n.Addr, primary)
	}
	if len(s.RunID) != 40 || s.CPUSeconds <= 0 || s.EngineCPUSeconds <= 0 || s.UsedMemory == 0 || s.NetInBytes == 0 || s.AtS <= 0 || s.Driver != nil {
		t.Errorf("%s: figures are missing in %+v", n.ID, s)
	}
}

func TestAReplicaAsSeedLeadsToAllNodesWithoutCluster(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 2, Password: "p w\"d"})
	_, port, _ := net.SplitHostPort(c.Addrs()[0])
	endpoint := net.JoinHostPort("localhost", port) // an endpoint: another name of the primary
	for _, seeds := range [][]string{{c.Addrs()[2]}, {c.Addrs()[0]}, {endpoint}, {endpoint, c.Addrs()[1], c.Addrs()[0]}} {
		obs := newObserver(t, observe.Options{Seeds: seeds, Password: "p w\"d", Name: namer(c), Timeout: 5 * time.Second})
		got := until(t, obs, allUp)
		if want := nodeIDs(c); !slices.Equal(ids(got), want) {
			t.Fatalf("from %v: nodes %v, want %v", seeds, ids(got), want)
		}
		for i, n := range c.Nodes() {
			checkNode(t, got[i], n, c.Addrs()[0])
		}
	}
}

func TestServerThatIsNoClusterIsSampledAllTheSame(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	obs := newObserver(t, observe.Options{Seeds: c.Addrs(), Cluster: true, Timeout: 5 * time.Second})
	for range 3 {
		if got := obs.Sample(t.Context(), clock()); len(got) != 1 || !got[0].Up || got[0].Role != "primary" {
			t.Fatalf("got %+v", got)
		}
	}
}

func TestCommandstatsAreWhatTheClientSent(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	obs := newObserver(t, observe.Options{Seeds: c.Addrs(), Name: namer(c), Timeout: 5 * time.Second})
	before := obs.Sample(t.Context(), clock())[0]
	send(t, clientOf(t, c.Addrs()[0], ""))
	var after result.NodeSample
	for range 20 { // sampling itself must not count among the commands of a ranking
		after = obs.Sample(t.Context(), clock())[0]
	}
	want := map[string]uint64{"zadd": 138, "zscore": 59, "zcount": 7, "zrevrange": 5, "set": 1}
	for name, n := range want {
		if got := after.Commands[name] - before.Commands[name]; got != n {
			t.Errorf("%s: %d calls, want %d", name, got, n)
		}
	}
	for name := range after.Commands {
		if _, sent := want[name]; strings.HasPrefix(name, "z") && !sent {
			t.Errorf("the observer sends %s", name)
		}
	}
	if after.Failed["zadd"] != 1 || after.Rejected["zadd"] != 2 {
		t.Errorf("failed %v, rejected %v; want 1 and 2 zadd", after.Failed, after.Rejected)
	}
	if after.Hits != 60 || after.Misses != 11 {
		t.Errorf("%d hits, %d misses; want 60 and 11", after.Hits, after.Misses)
	}
	if got := after.NetInBytes - before.NetInBytes; got < 138*40 {
		t.Errorf("%d bytes in, less than what was sent", got)
	}
}

// send sends 137 ZADD, one that fails and two that are rejected, 59 ZSCORE that
// hit, 7 ZCOUNT and 4 ZREVRANGE of no key, 1 ZREVRANGE of the ranking.
func send(t *testing.T, r *redis.Client) {
	t.Helper()
	ctx := t.Context()
	for i := range 137 {
		must(t, r.ZAdd(ctx, "ranking", redis.Z{Score: float64(i), Member: fmt.Sprintf("member-%012d", i)}).Err())
	}
	for i := range 59 {
		must(t, r.ZScore(ctx, "ranking", fmt.Sprintf("member-%012d", i)).Err())
	}
	for range 7 {
		must(t, r.ZCount(ctx, "no-key", "1", "+inf").Err())
	}
	for range 4 {
		must(t, r.ZRevRange(ctx, "no-key", 0, 9).Err())
	}
	must(t, r.ZRevRange(ctx, "ranking", 0, 9).Err())
	must(t, r.Set(ctx, "text", "x", 0).Err())
	for _, args := range [][]any{{"zadd", "text", 1, "m"}, {"zadd", "text"}, {"zadd"}} {
		if r.Do(ctx, args...).Err() == nil {
			t.Fatalf("%v was accepted", args)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHungReplicaIsDownInTimeAndDelaysNobodyBeyondTheTimeout(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 2})
	const timeout = 400 * time.Millisecond
	obs := newObserver(t, observe.Options{Seeds: c.Addrs(), Name: namer(c), Timeout: timeout})
	until(t, obs, func(s []result.NodeSample) bool { return len(s) == 3 && allUp(s) })
	nodes := nodeIDs(c)
	must(t, c.Signal(nodes[2], syscall.SIGSTOP))
	goroutines := runtime.NumGoroutine()
	for range 8 {
		checkHungRound(t, obs, timeout, nodes)
	}
	if n := runtime.NumGoroutine(); n > goroutines+3 {
		t.Errorf("%d goroutines before the hang, %d after 8 rounds", goroutines, n)
	}
	must(t, c.Signal(nodes[2], syscall.SIGCONT))
	until(t, obs, allUp)
}

// checkHungRound: the last of the nodes hangs.
func checkHungRound(t *testing.T, obs *observe.Observer, timeout time.Duration, nodes []string) {
	t.Helper()
	now := clock()
	got := obs.Sample(t.Context(), now)
	if took := now(); took > timeout+time.Second { // the second is for a busy machine
		t.Errorf("the round took %v, the timeout is %v", took, timeout)
	}
	if s := byID(t, got, nodes[2]); s.Up || s.Error != "timeout" || s.Role != "" || s.AtS > timeout.Seconds()/2 {
		t.Errorf("hung node: %+v; want down since it was asked", s)
	}
	for _, id := range nodes[:2] {
		if s := byID(t, got, id); !s.Up {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

func TestReasonsWhyANodeDoesNotAnswer(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Password: "secret"})
	closed, silent := listener(t), listener(t)
	must(t, closed.Close())
	for _, tt := range []struct {
		name, want string
		o          observe.Options
	}{
		{"nobody listens", "refused", observe.Options{Seeds: []string{closed.Addr().String()}}},
		{"accepts and says nothing", "timeout", observe.Options{Seeds: []string{silent.Addr().String()}, Timeout: 100 * time.Millisecond}},
		{"no such host", "dns", observe.Options{Seeds: []string{"no..such.host:6379"}, Timeout: 5 * time.Second}},
		{"wrong password", "auth", observe.Options{Seeds: c.Addrs(), Password: "wrong", Timeout: 5 * time.Second}},
		{"no password", "auth", observe.Options{Seeds: c.Addrs(), Timeout: 5 * time.Second}},
	} {
		for _, inCluster := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cluster %v", tt.name, inCluster), func(t *testing.T) {
				tt.o.Cluster = inCluster
				obs := newObserver(t, tt.o)
				for range 3 {
					got := obs.Sample(t.Context(), clock())
					if len(got) != 1 || got[0].Up || got[0].Error != tt.want || got[0].Addr != tt.o.Seeds[0] {
						t.Fatalf("got %+v, want one node, down: %s", got, tt.want)
					}
				}
			})
		}
	}
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func TestCredentialsAreAskedAtEachConnection(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Password: "fresh"})
	var asked int
	obs := newObserver(t, observe.Options{Seeds: c.Addrs(), Timeout: 5 * time.Second, Credentials: func(context.Context) (string, string, error) {
		if asked++; asked == 1 {
			return "default", "stale", nil
		}
		return "default", "fresh", nil
	}})
	for i, want := range []bool{false, true, true} {
		if got := obs.Sample(t.Context(), clock()); len(got) != 1 || got[0].Up != want {
			t.Errorf("round %d: %+v, want up %v", i, got, want)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want once a connection", asked)
	}
}

func TestNamesAreAskedOfTheResolver(t *testing.T) {
	c, names := clustertest.Start(t, cluster.Options{Standalone: true}), startDNS(t)
	host, port, _ := net.SplitHostPort(c.Addrs()[0])
	names.Set("lb.ng.0001."+dns.Zone, 0, netip.MustParseAddr(host))
	seed := net.JoinHostPort("lb.ng.0001."+strings.TrimSuffix(dns.Zone, "."), port)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, names.Addr())
	}}
	obs := newObserver(t, observe.Options{Seeds: []string{seed}, Resolver: resolver, Timeout: 5 * time.Second})
	if got := obs.Sample(t.Context(), clock()); len(got) != 1 || !got[0].Up {
		t.Errorf("%+v", got)
	}
	names.Delete("lb.ng.0001." + dns.Zone)
	obs = newObserver(t, observe.Options{Seeds: []string{seed}, Resolver: resolver, Timeout: 5 * time.Second})
	if got := obs.Sample(t.Context(), clock()); len(got) != 1 || got[0].Error != "dns" {
		t.Errorf("%+v", got)
	}
}

func startDNS(t *testing.T) *dns.Server {
	t.Helper()
	s, err := dns.Start(t.Context(), "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func TestTLSVerifiesTheHostThatIsDialled(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	ca := httptest.NewTLSServer(nil)
	defer ca.Close()
	proxy, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: ca.TLS.Certificates})
	must(t, err)
	serveProxy(t, proxy, c.Addrs()[0])
	trusted := x509.NewCertPool()
	trusted.AddCert(ca.Certificate())
	for want, roots := range map[string]*x509.CertPool{"": trusted, "tls": x509.NewCertPool()} {
		obs := newObserver(t, observe.Options{Seeds: []string{proxy.Addr().String()}, TLS: &tls.Config{RootCAs: roots}, Timeout: 5 * time.Second})
		if got := obs.Sample(t.Context(), clock()); len(got) != 1 || got[0].Error != want || got[0].Up != (want == "") {
			t.Errorf("got %+v, want error %q", got, want)
		}
	}
}

// TestServerBefore7IsAskedForAllSections: Redis 6 takes INFO with one section at most.
func TestServerBefore7IsAskedForAllSections(t *testing.T) {
	ln := listener(t)
	var mu sync.Mutex
	infos := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() { serveRedis6(ln, func(info string) { mu.Lock(); defer mu.Unlock(); infos[info]++ }) })
	obs := observe.New(observe.Options{Seeds: []string{ln.Addr().String()}, Timeout: 5 * time.Second})
	for range 3 {
		got := obs.Sample(t.Context(), clock())
		if len(got) != 1 || !got[0].Up || got[0].Role != "primary" || got[0].Commands["zadd"] != 12 || got[0].NetInBytes != 34 {
			t.Fatalf("got %+v", got)
		}
	}
	must(t, obs.Close())
	must(t, ln.Close())
	wg.Wait()
	if infos["all"] != 3 || len(infos) != 2 {
		t.Errorf("INFO was asked as %v; want the list once, then all", infos)
	}
}

func TestClosedObserverSeesNothing(t *testing.T) {
	obs := observe.New(observe.Options{Seeds: []string{"127.0.0.1:1"}})
	must(t, obs.Close())
	if got := obs.Sample(t.Context(), clock()); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	must(t, obs.Close())
}
