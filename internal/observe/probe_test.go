//go:build unix

package observe_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/dns"
	"github.com/rankbench/rankbench/internal/observe"
)

// keyOf is a canary in a slot from one to another.
func keyOf(t *testing.T, c *cluster.Cluster, from, to int64) string {
	t.Helper()
	rdb := clientOf(t, c.Addrs()[0], "")
	for i := range 100_000 {
		key := fmt.Sprintf("{ranking%d}:rankbench-probe", i)
		slot, err := rdb.ClusterKeySlot(t.Context(), key).Result()
		must(t, err)
		if from <= slot && slot <= to {
			return key
		}
	}
	t.Fatalf("no key in %d-%d", from, to)
	return ""
}

// firstPrimary polls a node, with a client of its own, until it says that it is primary.
func firstPrimary(t *testing.T, addr string, now func() time.Duration) (wait func() time.Duration) {
	t.Helper()
	rdb, seen := clientOf(t, addr, ""), make(chan time.Duration, 1)
	tick := time.NewTicker(3 * time.Millisecond)
	go func() {
		defer tick.Stop()
		for range tick.C {
			reply, err := rdb.Do(t.Context(), "role").Slice()
			if err != nil || fmt.Sprint(reply[0]) == "master" {
				seen <- now()
				return
			}
		}
	}()
	return func() time.Duration { return <-seen }
}

// span is when a call began and when it returned.
type span struct{ from, to time.Duration }

func (p *probed) timed(t *testing.T, call func() error) (s span) {
	t.Helper()
	s.from = p.now()
	must(t, call())
	s.to = p.now()
	return s
}

// TestWriteGapIsTheTimeFromTheKillToThePromotion, and reads go on.
func TestWriteGapIsTheTimeFromTheKillToThePromotion(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1})
	must(t, c.Freeze(t.Context(), "0001", true))
	o := observe.Options{Seeds: c.Addrs()[2:3], Cluster: true, Name: namer(c), RolesByProbe: true}
	p := startProbe(t, o, observe.ProbeOptions{Key: keyOf(t, c, 0, 5460)})
	beside, w := watch(t, newObserver(t, o), 20*time.Millisecond), startWitness(t, c.Addrs()[5])
	p.awaitOK(t, "write", 0)
	p.awaitOK(t, "read", 0)
	p.pass(t, 300*time.Millisecond)

	kill := p.timed(t, func() error { return c.Kill("lb-0001-001") })
	p.pass(t, 900*time.Millisecond)
	polled := firstPrimary(t, c.Nodes()[1].Addr, p.now)
	promote := p.timed(t, func() error { return c.Promote(t.Context(), "lb-0001-002") })
	p.awaitOK(t, "write", promote.to)

	checkGap(t, p, w, kill, promote)
	checkPromotion(t, p, w, "lb-0001-002", polled())
	beside.await(t, "the killed node", func() bool { return beside.has("lb-0001-001", "unreachable") })
	if beside.has("lb-0001-002", "is ") {
		t.Error("Watch told the role change, too")
	}
}

// checkGap: the service is without a primary from some instant in the call of
// Kill to some instant in the call of Promote. The gap may be longer by the time
// between two questions and shorter by a bucket at each end: 40 ms of the
// tolerance of 100 ms.
func checkGap(t *testing.T, p *probed, w *witness, kill, promote span) {
	t.Helper()
	gap := p.gap(t, "write", kill.from, promote.to)
	t.Logf("killed %v to %v, promoted %v to %v, gap %v, slack %v", kill.from, kill.to, promote.from, promote.to, gap, w.slack())
	if least, most := promote.from-kill.to-w.slack(), promote.to-kill.from+w.slack(); gap < least || gap > most {
		t.Errorf("writes were away for %v, want %v to %v", gap, least, most)
	}
	if gap := p.gap(t, "read", kill.from, promote.from); gap > w.slack() {
		t.Errorf("reads were away for %v, though full coverage is not asked for", gap)
	}
	if p.failed["write"]["refused"] == 0 || len(p.failures(w, "read")) != 0 {
		t.Errorf("errors %v", p.failed)
	}
}

// checkPromotion wants one role change, to 50 ms of when another client saw it.
func checkPromotion(t *testing.T, p *probed, w *witness, id string, polled time.Duration) {
	t.Helper()
	p.await(t, "role change", func() bool { return p.has(id, "is primary (was lb-0001-001)") })
	events := p.told("node")
	if len(events) != 1 {
		t.Fatalf("events %+v", events)
	}
	at := time.Duration(events[0].AtS * float64(time.Second))
	t.Logf("role change at %v, polled %v", at, polled)
	if off := (at - polled).Abs(); off > 50*time.Millisecond+2*w.stall() {
		t.Errorf("the role change was told as of %v, another client saw it at %v", at, polled)
	}
}

// TestStalePrimaryThatComesBackChangesNothing: for a moment two nodes say that they are primary.
func TestStalePrimaryThatComesBackChangesNothing(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 2})
	must(t, c.Freeze(t.Context(), "0001", true))
	p := startProbe(t, observe.Options{Seeds: c.Addrs(), Cluster: true, Name: namer(c)}, observe.ProbeOptions{Key: keyOf(t, c, 0, 5460)})
	p.awaitOK(t, "write", 0)
	p.pass(t, 1200*time.Millisecond)
	must(t, c.Signal("lb-0001-001", syscall.SIGSTOP))
	p.awaitError(t, "write", "timeout")
	must(t, c.Promote(t.Context(), "lb-0001-002"))
	p.awaitOK(t, "write", p.now())
	p.await(t, "follower", func() bool { return p.has("lb-0001-003", "is replica of lb-0001-002") })
	must(t, c.Signal("lb-0001-001", syscall.SIGCONT))
	p.await(t, "demotion", func() bool { return p.has("lb-0001-001", "is replica of lb-0001-002") })
	p.pass(t, 500*time.Millisecond)
	if events := p.told("node"); len(events) != 3 {
		t.Errorf("three nodes changed, told %+v", events)
	}
}

// TestReadsStopWithFullCoverage: replicas serve until their cluster notices,
// after the node timeout, that slots have no primary.
func TestReadsStopWithFullCoverage(t *testing.T) {
	const nodeTimeout = time.Second
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1, FullCoverage: true, NodeTimeout: nodeTimeout})
	must(t, c.Freeze(t.Context(), "0001", true))
	p := startProbe(t, observe.Options{Seeds: c.Addrs()[2:3], Cluster: true}, observe.ProbeOptions{Key: keyOf(t, c, 0, 5460)})
	p.awaitOK(t, "read", 0)
	killed := p.now()
	must(t, c.Kill("lb-0001-001"))
	p.awaitError(t, "read", "clusterdown")
	stopped := p.now()
	p.pass(t, 500*time.Millisecond)
	p.cut(t)
	last := slices.Max(slices.Collect(maps.Keys(p.okAt["read"])))
	if last < killed+nodeTimeout/2 || last > stopped {
		t.Errorf("killed at %v; reads until %v, and first refused before %v", killed, last, stopped)
	}
	must(t, c.Promote(t.Context(), "lb-0001-002"))
	p.awaitOK(t, "write", stopped)
	p.awaitOK(t, "read_primary", stopped)
}

// TestHungPrimaryDelaysNobody: the others are asked as often as before.
func TestHungPrimaryDelaysNobody(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 2})
	p := startProbe(t, observe.Options{Seeds: c.Addrs(), Name: namer(c)}, observe.ProbeOptions{Key: "canary"})
	p.awaitOK(t, "write", 0)
	p.awaitOK(t, "read", 0)
	p.pass(t, 1200*time.Millisecond) // all nodes are known after the next look, if not before
	w := startWitness(t, c.Addrs()[1])
	must(t, c.Signal("lb-001", syscall.SIGSTOP))
	checkRhythm(t, p, w)
	if e := p.failed["write"]; e["timeout"] < 5 || len(e) != 1 {
		t.Errorf("write errors %v, want 5 and more timeouts", e)
	}
	resumed := p.now()
	must(t, c.Signal("lb-001", syscall.SIGCONT))
	if back := p.awaitOK(t, "write", resumed-bucket); back > resumed+tolerance+w.slack() { // a question that hangs has to run out
		t.Errorf("resumed at %v, written again at %v", resumed, back)
	}
	if e := p.told("node"); len(e) != 0 {
		t.Errorf("nobody changed its role: %+v", e)
	}
}

// checkRhythm: two replicas are asked as often as the witness asks one.
func checkRhythm(t *testing.T, p *probed, w *witness) {
	t.Helper()
	p.cut(t)
	from, reads, asked := p.now(), p.asked["read"], w.count()
	p.pass(t, 2*time.Second)
	p.cut(t)
	took := p.now() - from
	reads, asked = p.asked["read"]-reads, w.count()-asked
	t.Logf("%d reads of two replicas in %v, the witness asked %d times; stall %v", reads, took, asked, w.stall())
	if most := uint64(2 * (took/(20*time.Millisecond) + 2)); reads < uint64(2*asked)*3/4 || reads > most {
		t.Errorf("%d reads in %v, want %d, %d at most", reads, took, 2*asked, most)
	}
	if gap := p.gap(t, "read", from, p.now()); gap > w.slack() {
		t.Errorf("no read for %v", gap)
	}
}

func TestReplicaThatIsAddedIsFoundAndOneThatIsRemovedIsDropped(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 1})
	p, w := startProbe(t, observe.Options{Seeds: c.Addrs(), Cluster: true}, observe.ProbeOptions{Key: "canary"}), startWitness(t, c.Addrs()[0])
	p.awaitOK(t, "write", 0)
	id := c.NextID("0001")
	must(t, c.AddReplica(t.Context(), id))
	added := p.now()
	if found := p.awaitOK(t, "read", 0); found > added+1500*time.Millisecond+w.slack() { // a second, and a look that takes half of one
		t.Errorf("added by %v, read at %v", added, found)
	}
	const limit = 20 * time.Second // Remove waits until no client asks the node any more, or so long
	removing := p.now()
	must(t, c.Remove(t.Context(), id, 500*time.Millisecond, limit))
	if took := p.now() - removing; took > limit/2 {
		t.Errorf("the probe has kept on asking the removed node; its removal took %v", took)
	}
	p.cut(t)
	asked := p.asked["read"]
	p.pass(t, 300*time.Millisecond)
	if p.cut(t); p.asked["read"] != asked || len(p.failures(w, "read")) != 0 {
		t.Errorf("%d reads after the removal, errors %v", p.asked["read"]-asked, p.failed["read"])
	}
}

// TestMovingSlotIsServedAllTheWhile: who follows ASK and MOVED loses nothing.
func TestMovingSlotIsServedAllTheWhile(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 2})
	key := keyOf(t, c, 8191, 8191) // the one that moves first
	p, w := startProbe(t, observe.Options{Seeds: c.Addrs()[:1], Cluster: true}, observe.ProbeOptions{Key: key}), startWitness(t, c.Addrs()[1])
	p.awaitOK(t, "write", 0)
	p.pass(t, 200*time.Millisecond)
	half := p.timed(t, func() error { return halfMove(t, c, key) })
	p.awaitOK(t, "write", half.to)
	p.pass(t, time.Second+askedAgain) // longer than one ASK is heeded
	if !has(t, c.Addrs()[1], key) {
		t.Error("the new owner was not asked")
	}
	whole := p.timed(t, func() error { return c.Move(t.Context(), "0001", "0002", 64, nil) })
	p.awaitOK(t, "write", whole.to)
	if gap := p.gap(t, "write", half.from, whole.to); gap > w.slack() || len(p.failures(w, "write")) != 0 {
		t.Errorf("no write for %v, errors %v", gap, p.failed["write"])
	}
}

const askedAgain = 300 * time.Millisecond

// halfMove leaves slot 8191 where a move of it is under way: the key has gone from its old owner.
func halfMove(t *testing.T, c *cluster.Cluster, key string) error {
	t.Helper()
	from, to := c.Admin(c.Addrs()[0]), c.Admin(c.Addrs()[1])
	defer from.Close()
	defer to.Close()
	source, err := from.Do(t.Context(), "cluster", "myid").Text()
	must(t, err)
	sink, err := to.Do(t.Context(), "cluster", "myid").Text()
	must(t, err)
	must(t, to.Do(t.Context(), "cluster", "setslot", 8191, "importing", source).Err())
	must(t, from.Do(t.Context(), "cluster", "setslot", 8191, "migrating", sink).Err())
	return from.Do(t.Context(), "migrate", c.Nodes()[1].Host, c.Nodes()[1].Port, key, 0, 1000).Err()
}

// has says whether a node has a key in the slot that it imports or owns.
func has(t *testing.T, addr, key string) bool {
	t.Helper()
	p := clientOf(t, addr, "").Pipeline()
	p.Do(t.Context(), "asking")
	n := p.Exists(t.Context(), key)
	_, err := p.Exec(t.Context())
	must(t, err)
	return n.Val() == 1
}

func resolverOf(names *dns.Server) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, names.Addr())
	}}
}

const primaryHost, readerHost = "lb.cache.rankbench.test", "lb-ro.cache.rankbench.test"

// TestMovedNameIsTold, over TLS and with a password: ElastiCache without cluster mode.
func TestMovedNameIsTold(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{
		Standalone: true, Replicas: 2, OwnHosts: true, TLS: true, Password: "secret",
		Names: func(string) []string { return []string{primaryHost, readerHost} },
	})
	names, n := startDNS(t), c.Nodes()
	at := func(i int) netip.Addr { return netip.MustParseAddr(n[i].Host) }
	names.Set(primaryHost, 0, at(0))
	names.Set(readerHost, 0, at(1), at(2)) // in an order that turns
	_, port, _ := net.SplitHostPort(n[0].Addr)
	primary, reader := net.JoinHostPort(primaryHost, port), net.JoinHostPort(readerHost, port)
	p := startProbe(t, observe.Options{
		Seeds: []string{primary, reader}, Name: namer(c), Password: "secret", Resolver: resolverOf(names), TLS: trusting(t, c.CAFile()),
	}, observe.ProbeOptions{Key: "canary", Timeout: time.Second, Endpoints: []observe.Endpoint{{"connect_primary", primary}, {"connect_reader", reader}}})
	for _, cell := range []string{"write", "read", "read_primary", "connect_primary", "connect_reader"} {
		p.awaitOK(t, cell, 0)
	}
	must(t, c.Kill(n[0].ID))
	p.awaitError(t, "connect_primary", "refused")
	must(t, c.Promote(t.Context(), n[1].ID))
	moved := p.now()
	names.Set(primaryHost, 0, at(1))
	p.awaitOK(t, "connect_primary", moved)
	names.Set(primaryHost, 0, at(2))
	p.awaitError(t, "connect_primary", "readonly")
	if e := p.failed["connect_reader"]; len(e) != 0 {
		t.Errorf("reader endpoint: %v", e)
	}
	checkMoves(t, p, n, moved)
}

// TestReaderEndpointWithoutReplicasFailsNoWrite: its name exists and leads nowhere.
func TestReaderEndpointWithoutReplicasFailsNoWrite(t *testing.T) {
	c, names := clustertest.Start(t, cluster.Options{Standalone: true}), startDNS(t)
	host, port, _ := net.SplitHostPort(c.Addrs()[0])
	names.Set(primaryHost, 0, netip.MustParseAddr(host))
	names.Set(readerHost, 0)
	primary, reader := net.JoinHostPort(primaryHost, port), net.JoinHostPort(readerHost, port)
	p := startProbe(t, observe.Options{Seeds: []string{primary, reader}, Resolver: resolverOf(names)},
		observe.ProbeOptions{Key: "canary", Timeout: time.Second, Endpoints: []observe.Endpoint{{"connect_primary", primary}, {"connect_reader", reader}}})
	p.awaitOK(t, "connect_primary", 0)
	p.awaitError(t, "connect_reader", "dns")
	from, w := p.awaitOK(t, "write", 0), startWitness(t, c.Addrs()[0])
	p.pass(t, 1200*time.Millisecond) // with a second look at the topology
	p.cut(t)
	clear(p.failed["write"]) // before anybody had answered, it could have been any node's name
	clear(p.failed["read"])
	p.pass(t, 300*time.Millisecond)
	if gap := p.gap(t, "write", from, p.now()); gap > w.slack() || len(p.failures(w, "write"))+len(p.failures(w, "read")) != 0 {
		t.Errorf("no write for %v, errors %v", gap, p.failed)
	}
}

func checkMoves(t *testing.T, p *probed, n []cluster.Node, moved time.Duration) {
	t.Helper()
	want := []string{
		fmt.Sprintf("primary endpoint now leads to %s (was %s)", n[1].Host, n[0].Host),
		fmt.Sprintf("primary endpoint now leads to %s (was %s)", n[2].Host, n[1].Host),
	}
	got := p.told("dns")
	if len(got) != len(want) {
		t.Fatalf("events %+v", got)
	}
	for i, e := range got {
		if e.Message != want[i] || e.Subject != primaryHost {
			t.Errorf("got %+v, want %s", e, want[i])
		}
	}
	if late := time.Duration(got[0].AtS*float64(time.Second)) - moved; late < 0 || late > time.Second {
		t.Errorf("told %v after the name moved", late)
	}
	if !p.has(n[1].ID, "is primary (was "+n[0].ID+")") {
		t.Errorf("no promotion in %+v", p.told("node"))
	}
}

func trusting(t *testing.T, caFile string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return &tls.Config{RootCAs: roots}
}

// TestUserNeedsFewRights: a user who may do no more than the probe does, and one who may not even write.
func TestUserNeedsFewRights(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 1, Replicas: 1})
	key := "{ranking}:rankbench-probe"
	rights := []any{"on", ">pw", "~" + key, "+role", "+info", "+cluster|nodes", "+readonly", "+asking", "+ping", "+get"}
	for _, addr := range c.Addrs() {
		admin := c.Admin(addr)
		must(t, admin.Do(t.Context(), append([]any{"acl", "setuser", "prober", "+set"}, rights...)...).Err())
		must(t, admin.Do(t.Context(), append([]any{"acl", "setuser", "reader"}, rights...)...).Err())
		must(t, admin.Close())
	}
	for user, errors := range map[string]map[string]bool{"prober": nil, "reader": {"auth": true}} {
		p := startProbe(t, observe.Options{Seeds: c.Addrs(), Cluster: true, Username: user, Password: "pw"},
			observe.ProbeOptions{Key: key, Endpoints: []observe.Endpoint{{"connect", c.Addrs()[0]}, {"connect", c.Addrs()[1]}}})
		for _, cell := range []string{"read", "read_primary", "connect"} {
			p.awaitOK(t, cell, 0)
		}
		if errors["auth"] {
			p.awaitError(t, "write", "auth")
		} else {
			p.awaitOK(t, "write", 0)
		}
		p.stop()
		if (p.failed["write"]["auth"] > 0) != errors["auth"] || p.failed["read"]["auth"]+p.failed["connect"]["auth"] > 0 {
			t.Errorf("%s: errors %v", user, p.failed)
		}
	}
}

// TestProbeEndsWithItsContextAlsoDuringAHang: a timeout later at most. That
// nothing goes on running is seen by TestMain.
func TestProbeEndsWithItsContextAlsoDuringAHang(t *testing.T) {
	silent := listener(t)
	addr := silent.Addr().String()
	p := startProbe(t, observe.Options{Seeds: []string{addr}},
		observe.ProbeOptions{Key: "canary", Timeout: 300 * time.Millisecond, Endpoints: []observe.Endpoint{{"connect", addr}}})
	p.awaitError(t, "connect", "timeout")
	p.awaitError(t, "write", "timeout") // never having said what it is, it may be either
	from := p.now()
	p.stop()
	if took := p.now() - from; took > 2*time.Second { // a look at the topology takes 500 ms
		t.Errorf("ended after %v", took)
	}
}

// TestProbeLeavesTheRankingAlone: no command of a ranking, and no key but the canary.
func TestProbeLeavesTheRankingAlone(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	p := startProbe(t, observe.Options{Seeds: c.Addrs()}, observe.ProbeOptions{Key: "{ranking}:rankbench-probe"})
	p.awaitOK(t, "write", 300*time.Millisecond)
	rdb := clientOf(t, c.Addrs()[0], "")
	keys, err := rdb.Keys(t.Context(), "*").Result()
	must(t, err)
	if !slices.Equal(keys, []string{"{ranking}:rankbench-probe"}) {
		t.Errorf("keys %v", keys)
	}
	if ttl, err := rdb.PTTL(t.Context(), keys[0]).Result(); err != nil || ttl <= 50*time.Second || ttl > time.Minute {
		t.Errorf("the canary lives for %v (%v)", ttl, err)
	}
	stats, err := rdb.Info(t.Context(), "commandstats").Result()
	must(t, err)
	if strings.Contains(stats, "cmdstat_z") {
		t.Errorf("commands %s", stats)
	}
}
