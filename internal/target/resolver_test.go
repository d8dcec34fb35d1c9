//go:build unix

package target_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/dns"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

const (
	primaryName = "lb.ng.0001." + dns.Zone
	readerName  = "lb-ro.ng.0001." + dns.Zone
)

var profiles = []string{config.Tuned, config.Raw, config.DriverDefaults}

func startDNS(t *testing.T) *dns.Server {
	t.Helper()
	s, err := dns.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// endpoint writes a name without its final dot, as people do, and a port.
func endpoint(name, port string) string {
	return net.JoinHostPort(strings.TrimSuffix(name, "."), port)
}

// pair is two servers at one port of two addresses, as two nodes of a group.
type pair struct {
	at      [2]netip.Addr
	port    string
	servers [2]*redis.Client
}

func startPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{at: [2]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}}
	listeners := listenTwice(t, p.at)
	_, p.port, _ = net.SplitHostPort(listeners[0].Addr().String())
	for i, l := range listeners {
		c := clustertest.Start(t, cluster.Options{Standalone: true})
		p.servers[i] = direct(t, c.Addrs()[0], "")
		serve(t, l, func(conn net.Conn) { pipe(conn, c.Addrs()[0]) })
	}
	return p
}

// listenTwice finds a port that is free at both addresses.
func listenTwice(t *testing.T, at [2]netip.Addr) (ls [2]net.Listener) {
	t.Helper()
	for {
		first, err := net.Listen("tcp", netip.AddrPortFrom(at[0], 0).String())
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(first.Addr().String())
		second, err := net.Listen("tcp", net.JoinHostPort(at[1].String(), port))
		switch {
		case err == nil:
			return [2]net.Listener{first, second}
		case !errors.Is(err, syscall.EADDRINUSE):
			t.Skip("only Linux has all of 127.0.0.0/8: ", err)
		}
		_ = first.Close()
	}
}

func (p *pair) config(names *dns.Server, profile string) *config.Config {
	return &config.Config{
		Target: config.Target{
			Mode: config.Endpoints, Primary: endpoint(primaryName, p.port), Reader: endpoint(readerName, p.port), Resolver: names.Addr(),
		},
		Client: config.Client{Profile: profile, ReadFrom: config.Replica},
	}
}

// has says what the members of a server's ranking are.
func (p *pair) has(t *testing.T, server int, key string) string {
	t.Helper()
	got, err := p.servers[server].ZRange(t.Context(), key, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

// hangUp ends all connections of a server but the test's own.
func (p *pair) hangUp(t *testing.T, server int) {
	t.Helper()
	if err := p.servers[server].Do(t.Context(), "client", "kill", "type", "normal").Err(); err != nil {
		t.Fatal(err)
	}
}

// TestNewConnectionsFollowTheName: after a failover ElastiCache points the name of
// the primary endpoint at another node.
func TestNewConnectionsFollowTheName(t *testing.T) {
	p, names := startPair(t), startDNS(t)
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			key := "board:" + profile
			names.Set(primaryName, 0, p.at[0])
			names.Set(readerName, 0, p.at[1])
			w := open(t, p.config(names, profile), key, 1).Worker(0)
			do(t, w, ranking.Op{Kind: ranking.Set, Member: "before", Score: 1})
			names.Set(primaryName, 0, p.at[1])
			do(t, w, ranking.Op{Kind: ranking.Set, Member: "still", Score: 2})
			if got := p.has(t, 0, key); got != "before still" {
				t.Errorf("an open connection went elsewhere: the first server has %q", got)
			}
			p.hangUp(t, 0)
			eventually(t, patience, func() error { // the profile raw does not try again by itself
				_, err := w.Do(t.Context(), &ranking.Op{Kind: ranking.Set, Member: "after", Score: 3})
				return err
			})
			if first, second := p.has(t, 0, key), p.has(t, 1, key); first != "before still" || second != "after" {
				t.Errorf("the servers have %q and %q", first, second)
			}
			if r := do(t, w, ranking.Op{Kind: ranking.Get, Member: "after"}); r.Score != 3 {
				t.Errorf("the reader endpoint says %+v", r)
			}
		})
	}
}

func TestCheckAsksTheResolver(t *testing.T) {
	p, names := startPair(t), startDNS(t)
	names.Set(primaryName, 0, p.at[0])
	names.Set(readerName, 0, p.at[1])
	s, err := target.Check(t.Context(), p.config(names, config.Tuned), "k")
	if err != nil || s.Addr != endpoint(primaryName, p.port) {
		t.Errorf("%+v, %v", s, err)
	}
	names.Delete(readerName)
	if _, err := target.Check(t.Context(), p.config(names, config.Tuned), "k"); target.Classify(err) != load.DNS {
		t.Errorf("without the reader endpoint's name: %v", err)
	}
}

// TestASeedOfAClusterIsLookedUpByTheResolver, in Check and in each profile.
func TestASeedOfAClusterIsLookedUpByTheResolver(t *testing.T) {
	c, names := clustertest.Start(t, cluster.Options{}), startDNS(t)
	host, port, _ := net.SplitHostPort(c.Addrs()[0])
	names.Set(primaryName, 0, netip.MustParseAddr(host))
	for _, profile := range profiles {
		cfg := config.ForAddresses([]string{endpoint(primaryName, port)})
		cfg.Target.Resolver, cfg.Client.Profile = names.Addr(), profile
		if _, err := target.Check(t.Context(), cfg, "k"); err != nil {
			t.Errorf("%s: %v", profile, err)
		}
		do(t, open(t, cfg, "k", 1).Worker(0), ranking.Op{Kind: ranking.Set, Member: "a", Score: 1})
	}
}

// silent is the address of a DNS server that never answers.
func silent(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

func TestAWrongResolverIsAnErrorOfDNS(t *testing.T) {
	names := startDNS(t)
	gone := startDNS(t)
	_ = gone.Close()
	for title, tc := range map[string]struct{ resolver, name, profile string }{
		"nobody there, tuned":           {gone.Addr(), primaryName, config.Tuned},
		"nobody there, raw":             {gone.Addr(), primaryName, config.Raw},
		"nobody there, driver-defaults": {gone.Addr(), primaryName, config.DriverDefaults},
		"no answer":                     {silent(t), primaryName, config.Raw},
		"name that it does not have":    {names.Addr(), primaryName, config.Tuned},
		"zone that it does not have":    {names.Addr(), "rankbench.example.", config.Tuned},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			cfg := &config.Config{
				Target: config.Target{Mode: config.Standalone, Addresses: []string{endpoint(tc.name, "6379")}, Resolver: tc.resolver},
				Client: config.Client{Profile: tc.profile, ReadFrom: config.Replica},
			}
			began := time.Now()
			_, err := target.Check(t.Context(), cfg, "k")
			if hint := fail.HintOf(err); target.Classify(err) != load.DNS || !strings.Contains(hint, "target.resolver, "+tc.resolver) {
				t.Errorf("Check: %v (%v); hint: %s", err, target.Classify(err), hint)
			}
			if took := time.Since(began); took > tellsWithin {
				t.Errorf("Check took %v", took)
			}
			_, err = open(t, cfg, "k", 1).Worker(0).Do(t.Context(), &ranking.Op{Kind: ranking.Set, Member: "a", Score: 1})
			if target.Classify(err) != load.DNS {
				t.Errorf("an operation: %v (%v)", err, target.Classify(err))
			}
		})
	}
}

// TestTheNameIsWhatTheCertificateIsFor: the resolver changes where a connection
// goes, not to whom.
func TestTheNameIsWhatTheCertificateIsFor(t *testing.T) {
	c, names := clustertest.Start(t, cluster.Options{Standalone: true}), startDNS(t)
	addr, ca := tlsProxy(t, c.Addrs()[0])
	host, port, _ := net.SplitHostPort(addr)
	names.Set(primaryName, 0, netip.MustParseAddr(host))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, profile := range profiles {
		for serverName, want := range map[string]load.Class{"": load.TLS, "example.com": load.OK} { // which it is for
			t.Run(fmt.Sprintf("%s %q", profile, serverName), func(t *testing.T) {
				cfg := standalone(endpoint(primaryName, port), nil)
				cfg.Target.TLS = &config.TLS{CAFile: file, ServerName: serverName}
				cfg.Target.Resolver, cfg.Client.Profile = names.Addr(), profile
				w := open(t, cfg, "k", 1).Worker(0)
				eventually(t, patience, func() error { // a busy machine is too slow for the tuned timeouts
					_, checked := target.Check(t.Context(), cfg, "k")
					_, err := w.Do(t.Context(), &ranking.Op{Kind: ranking.Set, Member: "a", Score: 1})
					if target.Classify(checked) != want || target.Classify(err) != want {
						return fmt.Errorf("check: %w; an operation: %w", checked, err)
					}
					return nil
				})
			})
		}
	}
}
