package aws_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/fail"
)

// audit remembers what Announce and Record are told.
type audit struct{ announced, recorded []aws.Call }

func (a *audit) options(url string) aws.Options {
	return aws.Options{
		EndpointURL: url,
		Announce:    func(c aws.Call) error { a.announced = append(a.announced, c); return nil },
		Record:      func(c aws.Call) { a.recorded = append(a.recorded, c) },
	}
}

// change is one of the calls that change something.
type change struct {
	name string
	do   func(context.Context, *aws.Client) (aws.Call, error)
}

func changes() []change {
	two := 2
	return []change{
		{"TestFailover", func(ctx context.Context, c *aws.Client) (aws.Call, error) { return c.TestFailover(ctx, "lb", "0001") }},
		{"IncreaseReplicaCount", func(ctx context.Context, c *aws.Client) (aws.Call, error) {
			return c.IncreaseReplicas(ctx, "lb", aws.Replicas{Count: &two})
		}},
		{"DecreaseReplicaCount", func(ctx context.Context, c *aws.Client) (aws.Call, error) {
			return c.DecreaseReplicas(ctx, "lb", aws.Replicas{Remove: []string{"lb-0001-002"}})
		}},
		{"ModifyReplicationGroupShardConfiguration", func(ctx context.Context, c *aws.Client) (aws.Call, error) {
			return c.ModifyShards(ctx, "lb", aws.ShardChange{Count: 2, Retain: []string{"0001", "0002"}})
		}},
		{"RebootCacheCluster", func(ctx context.Context, c *aws.Client) (aws.Call, error) { return c.Reboot(ctx, "lb-0001-002") }},
	}
}

// TestAChangeIsSentOnceWhateverBecomesOfIt holds every change to every weather:
// one request, one record, and a doubt only where there is one.
func TestAChangeIsSentOnceWhateverBecomesOfIt(t *testing.T) {
	for _, row := range []struct {
		name      string
		answer    func(*testing.T, http.ResponseWriter, *http.Request)
		code      string
		ambiguous bool
	}{
		{"accepted", func(_ *testing.T, w http.ResponseWriter, r *http.Request) { accept(w, r) }, "", false},
		{"throttled", refusal(400, "Throttling"), "Throttling", false},
		{"denied", refusal(403, "AccessDenied"), "AccessDenied", false},
		{"expired", refusal(403, "ExpiredToken"), "ExpiredToken", false},
		{"unavailable", refusal(503, "ServiceUnavailable"), "ServiceUnavailable", true},
		{"failed", refusal(500, "InternalFailure"), "InternalFailure", true},
		{"hung up", func(t *testing.T, w http.ResponseWriter, _ *http.Request) { hangUp(t, w) }, aws.CodeNoAnswer, true},
		{"a proxy's page", page(502), aws.CodeBadAnswer, true},
		{"a proxy's refusal", page(403), aws.CodeBadAnswer, false},
		{"a portal's page", page(200), aws.CodeBadAnswer, true},
		{"a redirect", func(_ *testing.T, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, aws.CodeBadAnswer, false},
		{"garbage", text("<TestFail"), aws.CodeBadAnswer, true},
		{"nothing", text(""), aws.CodeBadAnswer, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := serve(t, func(w http.ResponseWriter, r *http.Request) { row.answer(t, w, r) })
			log := &audit{}
			c := open(t, log.options(f.URL))
			for _, ch := range changes() {
				call, err := ch.do(t.Context(), c)
				var doubt *aws.Ambiguous
				if aws.Code(err) != row.code || errors.As(err, &doubt) != row.ambiguous {
					t.Errorf("%s: %v (doubt: %v)", ch.name, err, doubt != nil)
				}
				if err != nil && fail.HintOf(err) == "" {
					t.Errorf("%s: no hint: %v", ch.name, err)
				}
				if n := f.count(ch.name); n != 1 {
					t.Errorf("%s: %d requests, want 1", ch.name, n)
				}
				if last := f.heads[len(f.heads)-1]; last.Get("Connection") != "close" {
					t.Errorf("%s: sent on a connection that may be about to close", ch.name)
				}
				wantCall(t, call, ch.name, err)
			}
			if len(log.announced) != len(changes()) || len(log.recorded) != len(changes()) {
				t.Errorf("%d announced, %d recorded", len(log.announced), len(log.recorded))
			}
		})
	}
}

func wantCall(t *testing.T, call aws.Call, name string, err error) {
	t.Helper()
	said := ""
	if err != nil {
		said = err.Error()
	}
	if call.Name != name || call.Answered.Before(call.At) || call.At.IsZero() || call.Err != said || len(call.Parameters) < 2 {
		t.Errorf("%+v, want error %q", call, said)
	}
	if err == nil && call.RequestID != "req-1" {
		t.Errorf("request id %q", call.RequestID)
	}
}

func refusal(status int, code string) func(*testing.T, http.ResponseWriter, *http.Request) {
	return func(_ *testing.T, w http.ResponseWriter, _ *http.Request) { refuse(w, status, code, "No.") }
}

func page(status int) func(*testing.T, http.ResponseWriter, *http.Request) {
	return func(_ *testing.T, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprint(w, "<!doctype html><html><head><title>Oh</title></head><body><p>Bad & gateway<br></body></html>")
	}
}

func text(answer string) func(*testing.T, http.ResponseWriter, *http.Request) {
	return func(_ *testing.T, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }
}

func TestAChangeThatIsNotAnsweredInTimeIsADoubt(t *testing.T) {
	f := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	log := &audit{}
	c := open(t, log.options(f.URL))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.TestFailover(ctx, "lb", "0001")
	var doubt *aws.Ambiguous
	if !errors.As(err, &doubt) || !errors.Is(err, context.DeadlineExceeded) || doubt.Call.Name != "TestFailover" {
		t.Errorf("error %v", err)
	}
	if f.count("TestFailover") != 1 || len(log.recorded) != 1 || log.recorded[0].Err == "" {
		t.Errorf("%d requests, recorded %+v", f.count("TestFailover"), log.recorded)
	}
}

// TestWhatNeverLeftIsNoDoubt: nothing listens, the name does not exist, the
// audit log is full, the call is none.
func TestWhatNeverLeftIsNoDoubt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	listener.Close()
	full := errors.New("disk full")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name string
		opts aws.Options
		ctx  context.Context
		want func(error) bool
	}{
		{"refused", aws.Options{EndpointURL: nobody}, t.Context(), func(err error) bool { return aws.Code(err) == aws.CodeUnreachable }},
		{"cancelled", aws.Options{EndpointURL: nobody}, gone, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"not announced", aws.Options{EndpointURL: nobody, Announce: func(aws.Call) error { return full }}, t.Context(), func(err error) bool { return errors.Is(err, full) }},
	} {
		c := open(t, row.opts)
		_, err := c.TestFailover(row.ctx, "lb", "0001")
		var doubt *aws.Ambiguous
		if err == nil || errors.As(err, &doubt) || !row.want(err) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestACallThatCannotBeMeantIsNotSent(t *testing.T) {
	f := serve(t, accept)
	log := &audit{}
	c := open(t, log.options(f.URL))
	one, minus := 1, -1
	for name, do := range map[string]func() (aws.Call, error){
		"nothing": func() (aws.Call, error) { return c.DecreaseReplicas(t.Context(), "lb", aws.Replicas{}) },
		"two": func() (aws.Call, error) {
			return c.DecreaseReplicas(t.Context(), "lb", aws.Replicas{Count: &one, Remove: []string{"a"}})
		},
		"named to add": func() (aws.Call, error) {
			return c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{Remove: []string{"a"}})
		},
		"negative": func() (aws.Call, error) { return c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{Count: &minus}) },
		"negative in a shard": func() (aws.Call, error) {
			return c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{PerShard: map[string]int{"0001": -1}})
		},
		"no group":  func() (aws.Call, error) { return c.IncreaseReplicas(t.Context(), "", aws.Replicas{Count: &one}) },
		"no shard":  func() (aws.Call, error) { return c.TestFailover(t.Context(), "lb", "") },
		"no node":   func() (aws.Call, error) { return c.Reboot(t.Context(), "") },
		"no shards": func() (aws.Call, error) { return c.ModifyShards(t.Context(), "lb", aws.ShardChange{}) },
		"both lists": func() (aws.Call, error) {
			return c.ModifyShards(t.Context(), "lb", aws.ShardChange{Count: 1, Remove: []string{"0001"}, Retain: []string{"0002"}})
		},
	} {
		if _, err := do(); aws.Code(err) != aws.CodeBadRequest || fail.CodeOf(err) != fail.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.got) != 0 || len(log.announced)+len(log.recorded) != 0 {
		t.Errorf("%d requests, %d announced, %d recorded", len(f.got), len(log.announced), len(log.recorded))
	}
}

func TestTheParametersAreOnTheWireAndInTheLog(t *testing.T) {
	f := serve(t, accept)
	log := &audit{}
	c := open(t, log.options(f.URL))
	if _, err := c.IncreaseReplicas(t.Context(), "lb", aws.Replicas{PerShard: map[string]int{"0002": 1, "0001": 3}}); err != nil {
		t.Fatal(err)
	}
	got := f.got[0].Encode()
	want := "Action=IncreaseReplicaCount&ApplyImmediately=true&ReplicaConfiguration.ConfigureShard.1.NewReplicaCount=3&ReplicaConfiguration.ConfigureShard.1.NodeGroupId=0001&" +
		"ReplicaConfiguration.ConfigureShard.2.NewReplicaCount=1&ReplicaConfiguration.ConfigureShard.2.NodeGroupId=0002&ReplicationGroupId=lb&Version=2015-02-02"
	if got != want {
		t.Errorf("sent %s", got)
	}
	if p := log.recorded[0].Parameters; p["ReplicaConfiguration"] != "0001=3,0002=1" || p["ReplicationGroupId"] != "lb" {
		t.Errorf("recorded %v", p)
	}
	if agent := f.heads[0].Get("User-Agent"); !strings.Contains(agent, "app/rankbench") {
		t.Errorf("user agent %q", agent)
	}
}
