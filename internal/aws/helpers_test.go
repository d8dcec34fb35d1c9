package aws_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyID  = "AKIDEXAMPLEEXAMPLE00"
	secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	token  = "IQoJb3JpZ2luX2VjEXAMPLETOKENEXAMPLETOKENEXAMPLETOKEN=="
)

// bareEnvironment lets nothing of the machine's AWS configuration through but
// AWS_CA_BUNDLE, and gives the names of the configuration files.
func bareEnvironment(t *testing.T) (config, credentials string) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "AWS_") && name != "AWS_CA_BUNDLE" {
			t.Setenv(name, value) // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	config, credentials = filepath.Join(dir, "config"), filepath.Join(dir, "credentials")
	for name, file := range map[string]string{"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": credentials} {
		write(t, file, "")
		t.Setenv(name, file)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return config, credentials
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// setCredentials gives the environment credentials that no text may show.
func setCredentials(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SESSION_TOKEN", token)
}

// open is New without the machine's configuration.
func open(t *testing.T, o aws.Options) *aws.Client {
	t.Helper()
	bareEnvironment(t)
	setCredentials(t)
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	c, err := aws.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fake is an endpoint that answers as a test wants and remembers what it got.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	got   []url.Values
	heads []http.Header
}

func serve(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		f.got = append(f.got, r.PostForm)
		f.heads = append(f.heads, r.Header.Clone())
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// count is how many requests of an action have come.
func (f *fake) count(action string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, form := range f.got {
		if form.Get("Action") == action {
			n++
		}
	}
	return n
}

// refuse answers with an error as AWS does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-Requestid", "req-1")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse xmlns="http://elasticache.amazonaws.com/doc/2015-02-02/"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>req-1</RequestId></ErrorResponse>`, code, message)
}

// accept answers a change as AWS does.
func accept(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Amzn-Requestid", "req-1")
	action := r.PostForm.Get("Action")
	kind := "ReplicationGroup"
	if action == "RebootCacheCluster" {
		kind = "CacheCluster"
	}
	fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><%[2]s></%[2]s></%[1]sResult></%[1]sResponse>`, action, kind)
}

// hangUp closes the connection without an answer.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	conn.Close()
}

const (
	startTakes = time.Minute
	settles    = 90 * time.Second
)

// localOptions are those of one group lb with short timings.
func localOptions(t *testing.T, shards, replicas int, mode string) local.Options {
	t.Helper()
	profile, err := control.NewProfile(control.Fast, 1, map[string]time.Duration{
		"failover": 500 * time.Millisecond, "recovery-start": 200 * time.Millisecond, "rejoin": 200 * time.Millisecond,
		"recovery": 500 * time.Millisecond, "replica": 100 * time.Millisecond, "replica-removed": 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	auto := true
	return local.Options{
		Control: control.Options{Timings: profile, FullCoverage: true, NodeTimeout: 2 * time.Second},
		Group: control.CreateInput{
			ID: "lb", Description: "a test", ClusterMode: mode, NumNodeGroups: &shards, ReplicasPerGroup: &replicas,
			AutomaticFailover: &auto, MultiAZ: &auto, NodeType: "cache.r7g.large", Tags: map[string]string{"team": "ranking"},
		},
		Log: logger{t},
	}
}

type logger struct{ t *testing.T }

func (l logger) Write(p []byte) (int, error) {
	l.t.Logf("%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// up runs a local ElastiCache until the test ends.
func up(t *testing.T, o local.Options) *local.Local {
	t.Helper()
	clustertest.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTakes)
	defer cancel()
	l, err := local.Up(ctx, o)
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

// awaitFact waits for an event of the kind since from, and returns its fact.
func awaitFact(t *testing.T, c *aws.Client, from time.Time, kind aws.Kind) (found aws.Fact) {
	t.Helper()
	eventually(t, func() error {
		events, err := c.Events(t.Context(), from, time.Time{})
		if err != nil {
			return err
		}
		for _, e := range events {
			if f := aws.Read(e); f.Kind == kind {
				found = f
				return nil
			}
		}
		return fmt.Errorf("no event: %s", kind)
	})
	return found
}

// awaitAvailable waits until the whole group is available.
func awaitAvailable(t *testing.T, c *aws.Client, id string) (g aws.Group) {
	t.Helper()
	eventually(t, func() (err error) {
		if g, err = c.Group(t.Context(), id); err != nil {
			return err
		}
		return g.Available()
	})
	return g
}
