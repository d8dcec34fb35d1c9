package populate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

// TestInterruptedFillGoesOnWhereItWas: cancelled in mid-fill, on one connection
// and on several.
func TestInterruptedFillGoesOnWhereItWas(t *testing.T) {
	servers := start(t, cluster.Options{Replicas: 1})
	for _, connections := range []int{1, 4} {
		for _, random := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d connections/random %t", connections, random), func(t *testing.T) {
				s := servers.site(t, fmt.Sprintf("interrupted:%d:%t", connections, random))
				spec := s.spec()
				spec.Members = 40_000
				o := s.options(t, spec)
				o.Random, o.Connections = random, connections
				s.interrupt(t, o, 20)
				s.expectIncomplete(t, spec)

				before := s.zadds(t)
				r := s.fill(t, o)
				if r.ResumedAt <= 0 || r.ResumedAt >= spec.Members {
					t.Errorf("resumed at %d of %d", r.ResumedAt, spec.Members)
				}
				// Batches of 1,000 from there on, not all 40 again.
				if sent := s.zadds(t) - before; sent > (spec.Members-r.ResumedAt+999)/1000 {
					t.Errorf("%d batches were sent after it resumed at %d", sent, r.ResumedAt)
				}
				s.expectExact(t, spec)
			})
		}
	}
}

// interrupt cancels a fill when so many batches have arrived.
func (s *site) interrupt(t *testing.T, o populate.Options, batches int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var arrived atomic.Int64
	var told atomic.Int64
	o.Progress = func(done, _ int64) { told.Store(done) }
	inner := o.Appender
	o.Appender = func(size int) populate.Appender {
		a := inner(size)
		return appenderFunc(func(ctx context.Context, m []string, scores []float64) error {
			err := a.Add(ctx, m, scores)
			if arrived.Add(1) == batches {
				cancel()
			}
			return err
		})
	}
	_, err := populate.Populate(ctx, s, o)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "go on from there") {
		t.Fatalf("interrupted: %v", err)
	}
	if n := told.Load(); n <= 0 || n > arrived.Load()*1000 {
		t.Errorf("progress told %d members, %d batches of 1000 have arrived", n, arrived.Load())
	}
}

// expectIncomplete: a load must not begin on it.
func (s *site) expectIncomplete(t *testing.T, spec ranking.Spec) {
	t.Helper()
	err := populate.Check(t.Context(), s, newRanking(t, spec))
	if err == nil || !strings.Contains(err.Error(), "not completely filled") || fail.HintOf(err) == "" {
		t.Errorf("check: %v (hint %q)", err, fail.HintOf(err))
	}
}

func TestResumeStartsAnewWhereItsMembersAreGone(t *testing.T) {
	servers := start(t, cluster.Options{Replicas: 1})
	for name, spoil := range map[string]func(*testing.T, *site){
		"ranking is gone":      func(t *testing.T, s *site) { s.on(t, "unlink", s.key) },
		"some members gone":    func(t *testing.T, s *site) { s.on(t, "zremrangebyrank", s.key, 0, 2999) },
		"marker is nonsense":   func(t *testing.T, s *site) { s.on(t, "hset", ranking.MarkerKey(s.key), "next", "soon") },
		"marker is beyond end": func(t *testing.T, s *site) { s.on(t, "hset", ranking.MarkerKey(s.key), "next", "99999999") },
	} {
		t.Run(name, func(t *testing.T) {
			s := servers.site(t, "anew:"+strings.ReplaceAll(name, " ", "-"))
			spec := s.spec()
			spec.Members = 10_000
			o := s.options(t, spec)
			o.Connections = 1
			s.interrupt(t, o, 5)
			spoil(t, s)
			if r := s.fill(t, o); r.ResumedAt != 0 {
				t.Errorf("resumed at %d", r.ResumedAt)
			}
			s.expectExact(t, spec)
		})
	}
}

// TestFillThatWasOnlyNotMarkedIsNotSentAgain: killed between the last member and the marker.
func TestFillThatWasOnlyNotMarkedIsNotSentAgain(t *testing.T) {
	s := start(t, cluster.Options{Standalone: true}).site(t, "unmarked")
	o := s.options(t, s.spec())
	s.fill(t, o)
	s.on(t, "hset", ranking.MarkerKey(s.key), "state", "filling", "next", s.spec().Members)
	before := s.zadds(t)
	if r := s.fill(t, o); r.ResumedAt != s.spec().Members || s.zadds(t) != before {
		t.Errorf("%+v, and %d ZADDs", r, s.zadds(t)-before)
	}
	if err := populate.Check(t.Context(), s, o.Ranking); err != nil {
		t.Error(err)
	}
}

// job is what the process to be killed is to fill.
type job struct {
	Addrs []string
	Spec  ranking.Spec
}

// fillToBeKilled sends a batch for each line that it reads.
func fillToBeKilled(text string) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	c, err := target.Open(config.ForAddresses(j.Addrs), j.Spec.Key, target.Need{Workers: 6})
	if err != nil {
		panic(err)
	}
	r, err := ranking.New(j.Spec)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	store := c.Store()
	_, err = populate.Populate(context.Background(), store, populate.Options{
		Ranking: r, Connections: 1,
		Appender: func(size int) populate.Appender {
			a := store.Appender(size)
			return appenderFunc(func(ctx context.Context, m []string, scores []float64) error {
				lines.Scan()
				return a.Add(ctx, m, scores)
			})
		},
	})
	panic(fmt.Sprint("not killed: ", err))
}

// TestKilledFillGoesOnWhereTheMarkerIs: kill -9, which lets nothing be written any more.
func TestKilledFillGoesOnWhereTheMarkerIs(t *testing.T) {
	s := start(t, cluster.Options{Replicas: 1}).site(t, "killed")
	spec := s.spec()
	spec.Members = 20_000
	text, err := json.Marshal(job{s.addrs, spec})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fillEnv+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("go\n", 7)); err != nil {
		t.Error(err)
	}
	s.awaitMarker(t, 7000)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // says that it was killed

	r := s.fill(t, s.options(t, spec))
	if r.ResumedAt != 7000 { // the marker is written once a second, and had been
		t.Errorf("resumed at %d, want 7000", r.ResumedAt)
	}
	s.expectExact(t, spec)
}

// awaitMarker waits until the marker says that so many members have arrived.
func (s *site) awaitMarker(t *testing.T, want int64) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		m, err := s.Marker(t.Context())
		if err == nil && m["next"] == strconv.FormatInt(want, 10) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the marker is %v (%v), want next=%d", m, err, want)
		}
	}
}
