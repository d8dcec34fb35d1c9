//go:build unix

package target_test

import (
	"context"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/target"
)

// tellsWithin is the promise of Check: a wrong config is told in under 10 s.
const tellsWithin = 10 * time.Second

func TestCheckSaysWhatItFound(t *testing.T) {
	t.Setenv("CHECK_PASSWORD", "check-secret")
	for name, tc := range map[string]struct {
		servers          cluster.Options
		mode             string
		shards, replicas int
	}{
		"one shard":            {cluster.Options{Replicas: 2}, config.Cluster, 1, 2},
		"three shards":         {cluster.Options{Shards: 3, Replicas: 1}, config.Cluster, 3, 1},
		"single server":        {cluster.Options{Standalone: true}, config.Standalone, 1, 0},
		"primary and replica":  {cluster.Options{Standalone: true, Replicas: 1}, config.Endpoints, 1, 1},
		"with a password":      {cluster.Options{Standalone: true, Password: "check-secret"}, config.Standalone, 1, 0},
		"cluster and password": {cluster.Options{Password: "check-secret"}, config.Cluster, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, tc.servers)
			cfg := s.config(kind{tc.mode, config.Replica, config.Tuned})
			if tc.servers.Password != "" {
				cfg.Target.PasswordEnv = "CHECK_PASSWORD"
			}
			got, err := target.Check(t.Context(), cfg, "some key")
			if err != nil {
				t.Fatal(err)
			}
			if got.Shards != tc.shards || got.Replicas != tc.replicas || len(got.Warnings) > 0 {
				t.Errorf("%+v, want %d shards, %d replicas, no warning", got, tc.shards, tc.replicas)
			}
			if want := s.cluster.Server().Version; !strings.HasSuffix(got.Version, " "+want) {
				t.Errorf("version %q, want %s", got.Version, want)
			}
			if got.Addr != s.addrs[0] {
				t.Errorf("address %s, want %s", got.Addr, s.addrs[0])
			}
		})
	}
}

func TestCheckTriesTheNextSeed(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{})
	cfg := config.ForAddresses([]string{deadAddr(t), "no..such.host:6379", s.addrs[0]})
	got, err := target.Check(t.Context(), cfg, "k")
	if err != nil || got.Addr != s.addrs[0] {
		t.Errorf("%+v (%v), want the answer of %s", got, err, s.addrs[0])
	}
}

// badWeather is one config that cannot work, and what is to be told.
type badWeather struct {
	cfg        *config.Config
	text, hint string // parts of the error and of its hint
}

func TestCheckTellsWhatIsWrongAndWhatToDo(t *testing.T) {
	plain := startServers(t, cluster.Options{Standalone: true})
	clustered := startServers(t, cluster.Options{})
	locked := startServers(t, cluster.Options{Standalone: true, Password: "the-right-one"})
	hangs, _ := hung(t, nil)
	dead := deadAddr(t)
	t.Setenv("WRONG_PASSWORD", "the-wrong-one")
	nobody(t, plain)
	for name, tc := range map[string]badWeather{
		"host that does not exist":         {standalone("no..such.host:6379", nil), "no..such.host", "does not resolve"},
		"port nobody listens on":           {standalone(dead, nil), dead, "nothing listens"},
		"all seeds dead":                   {config.ForAddresses([]string{deadAddr(t), dead}), dead, "nothing listens"},
		"wrong password":                   {withPassword(standalone(locked.addrs[0], nil), "WRONG_PASSWORD"), "WRONGPASS", "password"},
		"password not given":               {standalone(locked.addrs[0], nil), "NOAUTH", "password"},
		"variable of the password not set": {withPassword(standalone(plain.addrs[0], nil), "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE", "export"},
		"cluster config, standalone server": {clustered.as(config.Cluster, plain.addrs[0]),
			"not in cluster mode", "standalone"},
		"standalone config, cluster":    {standalone(clustered.addrs[0], nil), "is in cluster mode", "target.mode to cluster"},
		"endpoints config, cluster":     {clustered.as(config.Endpoints, clustered.addrs[0]), "is in cluster mode", "target.mode to cluster"},
		"TLS config, plain server":      {withTLS(standalone(plain.addrs[0], nil)), plain.addrs[0], "TLS"},
		"plain config, hung server":     {standalone(hangs.Addrs()[0], nil), hangs.Addrs()[0], "tls: true"},
		"hung seeds, many":              {config.ForAddresses(repeat(hangs.Addrs()[0], 10)), hangs.Addrs()[0], "tls: true"},
		"reader endpoint is not there":  {plain.withReader(dead), dead, "nothing listens"},
		"reader endpoint hangs":         {plain.withReader(hangs.Addrs()[0]), hangs.Addrs()[0], "no answer"},
		"user who may do nothing":       {withUser(standalone(plain.addrs[0], nil)), "NOPERM", "credentials"},
		"something that is no Redis":    {standalone(fakeServer(t, "-ERR what?\r\n"), nil), "what?", "Redis"},
		"server that hangs up":          {standalone(hangingUp(t), nil), "", "closed the connection"},
		"file of authorities not there": {withCA(standalone(plain.addrs[0], nil), "/no/such/file"), "/no/such/file", "target.tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of them wait
			tc.check(t)
		})
	}
}

func (b badWeather) check(t *testing.T) {
	t.Helper()
	began := time.Now()
	_, err := target.Check(t.Context(), b.cfg, "k")
	if took := time.Since(began); took > tellsWithin {
		t.Errorf("it took %v", took)
	}
	if err == nil {
		t.Fatal("no error")
	}
	hint := fail.HintOf(err)
	t.Logf("error: %v; hint: %s", err, hint)
	if !strings.Contains(err.Error(), b.text) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q, want one line with %q", err, b.text)
	}
	if hint == "" || !strings.Contains(hint, b.hint) {
		t.Errorf("hint %q, want %q in it", hint, b.hint)
	}
	for _, secret := range []string{"the-wrong-one", "the-right-one"} {
		if strings.Contains(err.Error()+hint, secret) {
			t.Errorf("it shows the password: %v; %s", err, hint)
		}
	}
}

// nobody makes a user who may connect, and nothing else.
func nobody(t *testing.T, s servers) {
	t.Helper()
	ok(t, s.primary.Do(t.Context(), "acl", "setuser", "nobody", "on", "nopass", "~*", "-@all", "+hello", "+auth"))
}

func withPassword(c *config.Config, variable string) *config.Config {
	c.Target.PasswordEnv = variable
	return c
}

func withTLS(c *config.Config) *config.Config {
	c.Target.TLS = &config.TLS{InsecureSkipVerify: true}
	return c
}

func withCA(c *config.Config, path string) *config.Config {
	c.Target.TLS = &config.TLS{CAFile: path}
	return c
}

func withUser(c *config.Config) *config.Config {
	c.Target.Username, c.Target.PasswordEnv = "nobody", "WRONG_PASSWORD" // any password will do
	return c
}

func (s servers) as(mode, addr string) *config.Config {
	return servers{addrs: []string{addr, addr}}.config(kind{mode, config.Replica, config.Tuned})
}

func (s servers) withReader(reader string) *config.Config {
	return servers{addrs: []string{s.addrs[0], reader}}.config(kind{config.Endpoints, config.Replica, config.Tuned})
}

func repeat(s string, n int) []string { return strings.Fields(strings.Repeat(s+" ", n)) }

// hangingUp is a server that closes every connection.
func hangingUp(t *testing.T) string {
	t.Helper()
	return listen(t, func(net.Conn) {})
}

// TestCheckEndsWithItsContext: ^C while a server hangs.
func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, cfg := hung(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := target.Check(ctx, cfg, "k"); err == nil {
		t.Error("no error")
	}
	if ctx.Err() == nil {
		t.Error("it did not wait for the server at all")
	}
}

// TestCheckWarnsWhereReadsWouldGoToThePrimary: a user without COMMAND.
func TestCheckWarnsWhereReadsWouldGoToThePrimary(t *testing.T) {
	s := startServers(t, cluster.Options{Replicas: 1})
	for _, c := range s.all {
		ok(t, c.Do(t.Context(), "acl", "setuser", "limited", "on", ">limited-secret", "~*", "+@all", "-command"))
	}
	t.Setenv("LIMITED_PASSWORD", "limited-secret")
	for from, wanted := range map[string]bool{config.Replica: true, config.Random: true, config.Nearest: true, config.Primary: false} {
		cfg := withPassword(s.config(kind{config.Cluster, from, config.Tuned}), "LIMITED_PASSWORD")
		cfg.Target.Username = "limited"
		got, err := target.Check(t.Context(), cfg, "k")
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got.Warnings, " "); wanted != (len(got.Warnings) == 1 && strings.Contains(text, "COMMAND") && strings.Contains(text, "primary")) {
			t.Errorf("read_from %s: warnings %q, want one about COMMAND: %t", from, got.Warnings, wanted)
		}
	}
}

// TestCheckSaysWhichSlotNobodyServes: a node that is in no cluster yet.
func TestCheckSaysWhichSlotNobodyServes(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{})
	ok(t, s.primary.ClusterDelSlotsRange(t.Context(), 0, 16383))
	_, err := target.Check(t.Context(), config.ForAddresses(s.addrs), "ranking")
	if err == nil || !strings.Contains(err.Error(), "no node serves slot") || fail.HintOf(err) == "" {
		t.Errorf("%v (hint %q)", err, fail.HintOf(err))
	}
}

// TestTLSReachesAServerThatHasIt: through the config's own file of authorities.
func TestTLSReachesAServerThatHasIt(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{Standalone: true})
	addr, ca := tlsProxy(t, s.addrs[0])
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{config.Tuned, config.DriverDefaults} {
		cfg := withCA(standalone(addr, nil), file)
		cfg.Client.Profile = profile
		if got, err := target.Check(t.Context(), cfg, "k"); err != nil || got.Shards != 1 {
			t.Errorf("check: %+v (%v)", got, err)
		}
		expectClass(t, cfg, aSet, 0)
	}
	cfg := withTLS(standalone(addr, nil))
	cfg.Target.TLS.InsecureSkipVerify = false
	badWeather{cfg, "certificate", "ca_file"}.check(t)
}
