//go:build unix

package target_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

const classifyKey = "classes"

// standalone is a config of one server whose every error shows.
func standalone(addr string, options map[string]string) *config.Config {
	return &config.Config{
		Target: config.Target{Mode: config.Standalone, Addresses: []string{addr}},
		Client: config.Client{Profile: config.Raw, ReadFrom: config.Primary, Options: options},
	}
}

var aSet = ranking.Op{Kind: ranking.Set, Member: "m", Score: 1}

// classOf runs one operation on a new client of the config.
func classOf(t *testing.T, cfg *config.Config, op ranking.Op) (load.Class, error) {
	t.Helper()
	_, err := open(t, cfg, classifyKey, 1).Worker(0).Do(t.Context(), &op)
	return target.Classify(err), err
}

func expectClass(t *testing.T, cfg *config.Config, op ranking.Op, want ...load.Class) {
	t.Helper()
	got, err := classOf(t, cfg, op)
	for _, w := range want {
		if got == w {
			return
		}
	}
	t.Errorf("%v has class %v, want %v", err, got, want)
}

func TestErrorsOfRealServersHaveTheirClass(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	primary, replica := c.Addrs()[0], c.Addrs()[1]
	admin := direct(t, primary, "")

	t.Run("write on a replica", func(t *testing.T) {
		expectClass(t, standalone(replica, nil), aSet, load.ReadOnly)
	})
	t.Run("no permission", func(t *testing.T) {
		ok(t, admin.Do(t.Context(), "acl", "setuser", "reader", "on", ">reader-secret", "~*", "+@all", "-zadd"))
		t.Setenv("READER_PASSWORD", "reader-secret")
		cfg := standalone(primary, nil)
		cfg.Target.Username, cfg.Target.PasswordEnv = "reader", "READER_PASSWORD"
		expectClass(t, cfg, aSet, load.Auth)
	})
	t.Run("wrong password", func(t *testing.T) {
		t.Setenv("READER_PASSWORD", "another")
		cfg := standalone(primary, nil)
		cfg.Target.Username, cfg.Target.PasswordEnv = "reader", "READER_PASSWORD"
		expectClass(t, cfg, aSet, load.Auth)
	})
	t.Run("no password", func(t *testing.T) {
		c := clustertest.Start(t, cluster.Options{Standalone: true, Password: "secret"})
		expectClass(t, standalone(c.Addrs()[0], nil), aSet, load.Auth)
	})
	t.Run("out of memory", func(t *testing.T) {
		c := clustertest.Start(t, cluster.Options{Standalone: true})
		admin := direct(t, c.Addrs()[0], "")
		ok(t, admin.Set(t.Context(), "ballast", strings.Repeat("x", 2<<20), 0)) // an empty server may fit in
		ok(t, admin.ConfigSet(t.Context(), "maxmemory-policy", "noeviction"))
		ok(t, admin.ConfigSet(t.Context(), "maxmemory", "1mb"))
		expectClass(t, standalone(c.Addrs()[0], nil), aSet, load.OOM)
	})
	t.Run("wrong type", func(t *testing.T) {
		ok(t, admin.Set(t.Context(), classifyKey, "a string", 0))
		expectClass(t, standalone(primary, nil), aSet, load.Other)
	})
}

type command interface{ Err() error }

func ok(t *testing.T, c command) {
	t.Helper()
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsOfTheNetworkHaveTheirClass(t *testing.T) {
	t.Parallel()
	t.Run("nobody listens", func(t *testing.T) {
		expectClass(t, standalone(deadAddr(t), nil), aSet, load.Refused)
	})
	t.Run("no such name", func(t *testing.T) {
		expectClass(t, standalone("no..such.host:6379", nil), aSet, load.DNS)
	})
	t.Run("server hangs", func(t *testing.T) {
		_, cfg := hung(t, map[string]string{"read_timeout": "100ms"})
		expectClass(t, cfg, aSet, load.Timeout)
	})
	t.Run("server is killed", killedInMidOperation)
	t.Run("pool is empty", emptyPool)
	t.Run("TLS to a server without", func(t *testing.T) {
		c := clustertest.Start(t, cluster.Options{Standalone: true})
		cfg := standalone(c.Addrs()[0], map[string]string{"dial_timeout": "300ms"})
		cfg.Target.TLS = &config.TLS{InsecureSkipVerify: true}
		// Redis takes the handshake for the beginning of a line and waits for its
		// end. Only where a random byte happens to be a newline does it answer.
		expectClass(t, cfg, aSet, load.Timeout, load.TLS, load.Reset)
	})
	t.Run("TLS to a server that speaks plainly", func(t *testing.T) {
		cfg := standalone(fakeServer(t, "-ERR what?\r\n"), map[string]string{"dial_timeout": "30s", "read_timeout": "30s"})
		cfg.Target.TLS = &config.TLS{InsecureSkipVerify: true}
		expectClass(t, cfg, aSet, load.TLS)
	})
	t.Run("certificate of an unknown authority", func(t *testing.T) {
		s := httptest.NewUnstartedServer(nil)
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell that we hung up
		s.StartTLS()
		t.Cleanup(s.Close)
		// The first check of a certificate reads the system's, which takes longer
		// than the profile's timeouts on a crowded machine.
		cfg := standalone(s.Listener.Addr().String(), map[string]string{"dial_timeout": "30s", "read_timeout": "30s"})
		cfg.Target.TLS = &config.TLS{}
		expectClass(t, cfg, aSet, load.TLS)
	})
}

// deadAddr is an address at which nobody listens: a moment ago we did.
func deadAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// hung is a server that is stopped, and a config for it.
func hung(t *testing.T, options map[string]string) (*cluster.Cluster, *config.Config) {
	t.Helper()
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	stop(t, c, c.Nodes()[0].ID)
	return c, standalone(c.Addrs()[0], options)
}

func stop(t *testing.T, c *cluster.Cluster, id string) {
	t.Helper()
	if err := c.Signal(id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// killedInMidOperation: the server hangs, an operation waits for its answer,
// the server dies.
func killedInMidOperation(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	w := open(t, standalone(c.Addrs()[0], map[string]string{"read_timeout": "20s"}), classifyKey, 1).Worker(0)
	do(t, w, aSet) // there is a connection now
	stop(t, c, c.Nodes()[0].ID)
	failed := make(chan error, 1)
	go func() {
		_, err := w.Do(context.Background(), &aSet)
		failed <- err
	}()
	if err := c.Kill(c.Nodes()[0].ID); err != nil {
		t.Error(err)
	}
	if err := <-failed; target.Classify(err) != load.Reset {
		t.Errorf("%v has class %v, want reset", err, target.Classify(err))
	}
}

// emptyPool: two workers share one connection to a hung server; one waits for
// the server, the other for the connection.
func emptyPool(t *testing.T) {
	_, cfg := hung(t, map[string]string{"pool_size": "1", "pool_timeout": "50ms", "read_timeout": "2s"})
	client := open(t, cfg, classifyKey, 2)
	var wg sync.WaitGroup
	classes := make([]load.Class, 2)
	for i := range classes {
		wg.Go(func() {
			op := aSet
			_, err := client.Worker(i).Do(context.Background(), &op)
			classes[i] = target.Classify(err)
		})
	}
	wg.Wait()
	// The second waits 50 ms, the first 2 s: however late it starts, it meets the first.
	if classes[0] > classes[1] {
		classes[0], classes[1] = classes[1], classes[0]
	}
	if classes[0] != load.Timeout || classes[1] != load.PoolTimeout {
		t.Errorf("classes %v, want timeout and pool_timeout", classes)
	}
	if p := client.Pool(); p.Timeouts != 1 {
		t.Errorf("%d pool timeouts counted, want 1", p.Timeouts)
	}
}

// TestRedirectsShowWhereTheDriverDoesNotFollowThem: raw, with a topology that
// is not read again, after the roles have changed.
func TestRedirectsShowWhereTheDriverDoesNotFollowThem(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{Replicas: 1})
	cfg := s.config(kind{config.Cluster, config.Primary, config.Raw})
	cfg.Client.Options = map[string]string{"cluster_state_reload_interval": "1h"}
	w := open(t, cfg, classifyKey, 1).Worker(0)
	do(t, w, aSet)
	ok(t, s.all[s.addrs[1]].ClusterFailover(t.Context()))
	var class load.Class
	eventually(t, patience, func() error {
		op := aSet
		_, err := w.Do(t.Context(), &op)
		if class = target.Classify(err); class == load.OK {
			return errors.New("the old primary still takes writes")
		}
		return nil
	})
	if class != load.Moved {
		t.Errorf("class %v, want moved", class)
	}
}

// TestAnswersOfServersHaveTheirClass: what is hard to make a real server say,
// through the driver's own parser.
func TestAnswersOfServersHaveTheirClass(t *testing.T) {
	for answer, want := range map[string]load.Class{
		"-LOADING Redis is loading the dataset in memory":                                        load.Loading,
		"-CLUSTERDOWN The cluster is down":                                                       load.ClusterDown,
		"-CLUSTERDOWN Hash slot not served":                                                      load.ClusterDown,
		"-TRYAGAIN Multiple keys request during rehashing of slot":                               load.ClusterDown,
		"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":      load.ClusterDown,
		"-MOVED 3999 127.0.0.1:6381":                                                             load.Moved,
		"-ASK 3999 127.0.0.1:6381":                                                               load.Moved,
		"-READONLY You can't write against a read only replica.":                                 load.ReadOnly,
		"-OOM command not allowed when used memory > 'maxmemory'.":                               load.OOM,
		"-NOAUTH Authentication required.":                                                       load.Auth,
		"-WRONGPASS invalid username-password pair or user is disabled.":                         load.Auth,
		"-NOPERM this user has no permissions to run the 'zadd' command or its subcommand":       load.Auth,
		"-ERR unknown command":                                                                   load.Other,
		"-MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk": load.Other,
		":1": load.OK,
	} {
		expectClass(t, standalone(fakeServer(t, answer+"\r\n"), nil), aSet, want)
	}
}

func TestEveryErrorHasAClass(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want load.Class
	}{
		{nil, load.OK},
		{redis.Nil, load.Missing},
		{errors.New("anything"), load.Other},
		{io.EOF, load.Reset},
		{io.ErrUnexpectedEOF, load.Reset},
		{syscall.ECONNRESET, load.Reset},
		{syscall.EPIPE, load.Reset},
		{net.ErrClosed, load.Reset},
		{redis.ErrClosed, load.Reset},
		{syscall.ECONNREFUSED, load.Refused},
		{syscall.EHOSTUNREACH, load.Refused},
		{syscall.ENETUNREACH, load.Refused},
		{syscall.ETIMEDOUT, load.Timeout},
		{context.DeadlineExceeded, load.Timeout},
		{redis.ErrPoolTimeout, load.PoolTimeout},
		{&net.DNSError{IsTimeout: true}, load.DNS}, // a lookup that timed out is DNS, though it is a timeout
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, load.Refused},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			if tc.err == nil && err != nil {
				continue
			}
			if got := target.Classify(err); got != tc.want {
				t.Errorf("%v has class %v, want %v", err, got, tc.want)
			}
		}
	}
}

// fakeServer answers HELLO as Redis does and everything else with answer. It
// stands for states that a real server cannot be put into at will.
func fakeServer(t *testing.T, answer string) string {
	t.Helper()
	return listen(t, func(conn net.Conn) { fakeAnswers(conn, answer) })
}

// fakeAnswers reads commands as arrays of bulk strings, or whatever comes as lines.
func fakeAnswers(conn net.Conn, answer string) {
	r := bufio.NewReader(conn)
	for {
		head, err := r.ReadString('\n')
		if err != nil {
			return
		}
		n, name := 0, ""
		if _, err := fmt.Sscanf(head, "*%d", &n); err != nil {
			_, _ = io.WriteString(conn, answer)
			return
		}
		for i := range n {
			_, _ = r.ReadString('\n') // $length
			word, _ := r.ReadString('\n')
			if i == 0 {
				name = strings.ToLower(strings.TrimSpace(word))
			}
		}
		reply := answer
		if name == "hello" {
			reply = "%1\r\n$5\r\nproto\r\n:3\r\n"
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}
