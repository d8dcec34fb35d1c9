package dns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	miekg "github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/dns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const name = "lb.ng.0001." + dns.Zone

var (
	one   = netip.MustParseAddr("127.0.0.1")
	two   = netip.MustParseAddr("127.0.0.2")
	three = netip.MustParseAddr("127.0.0.3")
	six   = netip.MustParseAddr("::1")
)

func start(t testing.TB) *dns.Server {
	t.Helper()
	s, err := dns.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// resolver is Go's own, asking s alone.
func resolver(s *dns.Server) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Addr())
	}}
}

func ask(t *testing.T, s *dns.Server, network, name string, kind uint16) *miekg.Msg {
	t.Helper()
	return exchange(t, s, network, new(miekg.Msg).SetQuestion(name, kind))
}

func exchange(t *testing.T, s *dns.Server, network string, query *miekg.Msg) *miekg.Msg {
	t.Helper()
	c := miekg.Client{Net: network}
	reply, _, err := c.ExchangeContext(t.Context(), query, s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// addrs are the addresses of an answer in their order.
func addrs(m *miekg.Msg) string {
	var out []string
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *miekg.A:
			out = append(out, rr.A.String())
		case *miekg.AAAA:
			out = append(out, rr.AAAA.String())
		}
	}
	return strings.Join(out, " ")
}

func lookup(t *testing.T, s *dns.Server, name string) []string {
	t.Helper()
	got, err := resolver(s).LookupHost(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAChangedRecordIsSeenAtOnce(t *testing.T) {
	s := start(t)
	r := resolver(s)
	for i := range 50 {
		want := []netip.Addr{one, two, three}[i%3]
		s.Set(name, 0, want)
		got, err := r.LookupNetIP(t.Context(), "ip4", name)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Fatalf("%v (%v), want %v", got, err, want)
		}
	}
}

func TestTheOrderTurnsWithEachAnswer(t *testing.T) {
	s := start(t)
	s.Set(name, 0, one, two, three)
	for _, want := range []string{
		"[127.0.0.1 127.0.0.2 127.0.0.3]", "[127.0.0.2 127.0.0.3 127.0.0.1]", "[127.0.0.3 127.0.0.1 127.0.0.2]", "[127.0.0.1 127.0.0.2 127.0.0.3]",
	} {
		if got := fmt.Sprint(lookup(t, s, name)); got != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	s.Set(name, 0, one, two)
	if got := fmt.Sprint(lookup(t, s, name)); got != "[127.0.0.2 127.0.0.1]" {
		t.Errorf("setting the name again begins anew: %s", got)
	}
}

func TestANameIsTheSameInAnyCaseWithAndWithoutItsDot(t *testing.T) {
	s := start(t)
	s.Set(strings.ToUpper(strings.TrimSuffix(name, ".")), 0, one)
	for _, n := range []string{name, strings.TrimSuffix(name, "."), strings.ToUpper(name), "Lb.nG.0001.cache.Rankbench.test"} {
		if got := lookup(t, s, n); !slices.Equal(got, []string{"127.0.0.1"}) {
			t.Errorf("%s: %v", n, got)
		}
	}
	reply := ask(t, s, "udp", "LB.ng.0001."+dns.Zone, miekg.TypeA)
	if got := reply.Answer[0].Header().Name; got != "LB.ng.0001."+dns.Zone {
		t.Errorf("the answer is about %s, not about the name as it was asked", got)
	}
	s.Delete(strings.ToUpper(name))
	if reply := ask(t, s, "udp", name, miekg.TypeA); reply.Rcode != miekg.RcodeNameError {
		t.Errorf("after Delete: %v", reply)
	}
}

// TestAnswers: what is said of each kind of question, by UDP and TCP alike.
func TestAnswers(t *testing.T) {
	s := start(t)
	s.Set(name, 0, one)
	s.Set("both."+dns.Zone, 5*time.Second, one, six)
	s.Set("empty."+dns.Zone, 0)
	s.Set("elsewhere.example.", 0, one)
	const nx, refused, notimp = miekg.RcodeNameError, miekg.RcodeRefused, miekg.RcodeNotImplemented
	for title, tc := range map[string]struct {
		name  string
		kind  uint16
		rcode int
		want  string // addresses
		soa   bool   // in the authority section
	}{
		"address":                        {name, miekg.TypeA, 0, "127.0.0.1", false},
		"address of both kinds, v4":      {"both." + dns.Zone, miekg.TypeA, 0, "127.0.0.1", false},
		"address of both kinds, v6":      {"both." + dns.Zone, miekg.TypeAAAA, 0, "::1", false},
		"any":                            {"both." + dns.Zone, miekg.TypeANY, 0, "127.0.0.1 ::1", false},
		"v6 of a name that has v4 alone": {name, miekg.TypeAAAA, 0, "", true},
		"name without addresses":         {"empty." + dns.Zone, miekg.TypeA, 0, "", true},
		"other type":                     {name, miekg.TypeMX, 0, "", true},
		"type that nobody knows":         {name, 65280, 0, "", true},
		"zone itself":                    {dns.Zone, miekg.TypeA, 0, "", true},
		"SOA of the zone":                {dns.Zone, miekg.TypeSOA, 0, "", false},
		"part of a longer name":          {"ng.0001." + dns.Zone, miekg.TypeA, 0, "", true},
		"unknown name":                   {"no." + dns.Zone, miekg.TypeA, nx, "", true},
		"unknown name, other type":       {"no." + dns.Zone, miekg.TypeTXT, nx, "", true},
		"below a name":                   {"x." + name, miekg.TypeA, nx, "", true},
		"another zone":                   {"example.com.", miekg.TypeA, refused, "", false},
		"another zone, name set":         {"elsewhere.example.", miekg.TypeA, refused, "", false},
		"zone's parent":                  {"rankbench.test.", miekg.TypeA, refused, "", false},
		"name that only ends alike":      {"mycache.rankbench.test.", miekg.TypeA, refused, "", false},
		"root":                           {".", miekg.TypeNS, refused, "", false},
		"transfer":                       {dns.Zone, miekg.TypeIXFR, notimp, "", false},
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(title+" by "+network, func(t *testing.T) {
				reply := ask(t, s, network, tc.name, tc.kind)
				if reply.Rcode != tc.rcode || addrs(reply) != tc.want || (len(reply.Ns) == 1) != tc.soa {
					t.Errorf("%v", reply)
				}
				if reply.RecursionAvailable || reply.Authoritative != (tc.rcode == 0 || tc.rcode == nx) {
					t.Errorf("flags: %v", reply)
				}
			})
		}
	}
}

func TestTTLsAreKept(t *testing.T) {
	s := start(t)
	for ttl, want := range map[time.Duration]uint32{
		0: 0, -time.Second: 0, time.Millisecond: 1, time.Second: 1, 5 * time.Second: 5, 1 << 62: 1<<31 - 1,
	} {
		s.Set(name, ttl, one)
		if got := ask(t, s, "udp", name, miekg.TypeA).Answer[0].Header().Ttl; got != want {
			t.Errorf("%v: %d, want %d", ttl, got, want)
		}
	}
	soa, _ := ask(t, s, "udp", "no."+dns.Zone, miekg.TypeA).Ns[0].(*miekg.SOA)
	if soa == nil || soa.Minttl > 1 || soa.Hdr.Ttl > 1 {
		t.Errorf("a missing name may be remembered for %v", soa)
	}
}

func TestGoTellsAMissingNameFromOneWithoutAddresses(t *testing.T) {
	s := start(t)
	s.Set("empty."+dns.Zone, 0)
	for _, n := range []string{"no." + dns.Zone, "empty." + dns.Zone} {
		_, err := resolver(s).LookupHost(t.Context(), n)
		var e *net.DNSError
		if !errors.As(err, &e) || !e.IsNotFound {
			t.Errorf("%s: %v", n, err)
		}
	}
	_, err := resolver(s).LookupHost(t.Context(), "example.com.")
	var e *net.DNSError
	if !errors.As(err, &e) || e.IsNotFound {
		t.Errorf("another zone: %v, want a refusal", err)
	}
}

// TestWhatIsTooLargeForAPacketGoesByTCP: Go's resolver does so by itself.
func TestWhatIsTooLargeForAPacketGoesByTCP(t *testing.T) {
	s := start(t)
	var many []netip.Addr
	for i := range 200 {
		many = append(many, netip.AddrFrom4([4]byte{127, 1, 0, byte(i)}))
	}
	s.Set(name, 0, many...)
	if reply := ask(t, s, "udp", name, miekg.TypeA); !reply.Truncated || len(reply.Answer) >= 200 {
		t.Errorf("%d addresses by UDP, truncated %v", len(reply.Answer), reply.Truncated)
	}
	if got := lookup(t, s, name); len(got) != 200 {
		t.Errorf("%d addresses by TCP", len(got))
	}
	query := new(miekg.Msg).SetQuestion(name, miekg.TypeA).SetEdns0(4096, false)
	if reply := exchange(t, s, "udp", query); len(reply.Answer) != 200 || reply.IsEdns0() == nil {
		t.Errorf("%d addresses to one who takes 4096 bytes", len(reply.Answer))
	}
}

func TestStartRefusesWhatIsNotLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:53", "[::]:0", "localhost:0", "127.0.0.1", "127.0.0.1:x", ""} {
		if s, err := dns.Start(t.Context(), addr); err == nil {
			t.Errorf("%q: listens on %s", addr, s.Addr())
			_ = s.Close()
		}
	}
}

func TestStartTellsThatThePortIsTaken(t *testing.T) {
	s := start(t)
	if _, err := dns.Start(t.Context(), s.Addr()); err == nil {
		t.Error("no error")
	}
}

func TestCloseMayBeCalledTwice(t *testing.T) {
	s, err := dns.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	idle, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("still listens")
	}
}

func TestManyMayAskAndChangeAtOnce(t *testing.T) {
	s := start(t)
	s.Set(name, 0, one)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := resolver(s)
			for range 30 {
				if got, err := r.LookupHost(t.Context(), name); err != nil || len(got) == 0 {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				s.Set(name, 0, []netip.Addr{one, two, three}[:1+i%3]...)
				s.Set(fmt.Sprintf("n%d.%s", i, dns.Zone), 0, one)
				s.Delete(fmt.Sprintf("n%d.%s", i, dns.Zone))
			}
		})
	}
	wg.Wait()
}

// FuzzGarbage sends bytes as a query by UDP; whatever they are, the next real
// question is answered.
func FuzzGarbage(f *testing.F) {
	s := start(f)
	s.Set(name, 0, one)
	query, err := new(miekg.Msg).SetQuestion(name, miekg.TypeA).Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(query)
	f.Add(query[:len(query)-3])
	f.Add(query[:5])
	f.Add([]byte{})
	f.Add(make([]byte, 12))
	f.Add([]byte("\x12\x34\x20\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x01"))         // NOTIFY
	f.Add([]byte("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x01"))         // UPDATE
	f.Add([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))     // a name that points at itself
	f.Add([]byte("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"))         // two questions, one there
	f.Add([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x3f\xff\xff\x00\x01\x00\x01")) // a label longer than the packet
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.Dial("udp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(data[:min(len(data), 1200)]); err != nil {
			t.Fatal(err)
		}
		if got := addrs(ask(t, s, "udp", name, miekg.TypeA)); got != "127.0.0.1" {
			t.Errorf("afterwards: %q", got)
		}
	})
}
