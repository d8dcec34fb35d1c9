//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rankbench/rankbench/internal/local/state"
)

// witness is what the servers themselves say of the Sets that they executed, by
// MONITOR: an account of a drill that the drill has no part in.
type witness struct {
	nodes []string
	conns []net.Conn
	wg    sync.WaitGroup

	mu   sync.Mutex
	last map[string]executed // by member
}

type executed struct {
	at    float64 // the server's clock, which is the same for all of them here
	score float64
}

// executedSet is a line of MONITOR: time, who sent it, and a ZADD of one member.
var executedSet = regexp.MustCompile(`^\+(\d+\.\d+) \[0 ([^\]]+)\] "(?i:zadd)" "[^"]+" "([^"]+)" "([^"]+)"\s*$`)

// witnesses are those of scripts, by their folders.
var witnesses sync.Map

// watchSets starts a witness of the folder's local ElastiCache.
func watchSets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: watchsets")
	}
	s, err := state.Read(ts.MkAbs("."))
	ts.Check(err)
	w := &witness{nodes: s.Addrs(), last: map[string]executed{}}
	for _, addr := range w.nodes {
		conn, err := net.Dial("tcp", addr)
		ts.Check(err)
		w.conns = append(w.conns, conn)
		in := bufio.NewReader(conn)
		_, err = fmt.Fprint(conn, "MONITOR\r\n")
		ts.Check(err)
		answer, err := in.ReadString('\n')
		ts.Check(err)
		if answer != "+OK\r\n" {
			ts.Fatalf("MONITOR: %s", answer)
		}
		w.wg.Go(func() { w.read(in) })
	}
	ts.Defer(w.close)
	witnesses.Store(ts.MkAbs("."), w)
}

func (w *witness) close() {
	for _, c := range w.conns {
		_ = c.Close() // only read from
	}
	w.wg.Wait()
}

func (w *witness) read(in *bufio.Reader) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if m := executedSet.FindStringSubmatch(line); m != nil && !slices.Contains(w.nodes, m[2]) { // a primary's are told by itself
			w.keep(m[1], m[3], m[4])
		}
	}
}

func (w *witness) keep(at, score, member string) {
	var e executed
	e.at, _ = strconv.ParseFloat(at, 64) // the pattern has seen to it
	e.score, _ = strconv.ParseFloat(score, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last[member].at <= e.at {
		w.last[member] = e
	}
}

// lost counts the members that have not the score of the last Set that a server
// executed, and of how many members there was any.
func (w *witness) lost(ts *testscript.TestScript, key string) (lost, of int) {
	ctx := context.Background()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: w.nodes, DisableIdentity: true})
	defer rdb.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for member, e := range w.last {
		has, err := rdb.ZScore(ctx, key, member).Result()
		ts.Check(err)
		if has != e.score {
			lost++
		}
	}
	return lost, len(w.last)
}

// witnessed SUMMARY some|none: as many acknowledged Sets were lost as the witness
// of watchsets counts. What a server had executed when it died, and had not yet
// answered, is among the witness's count and not acknowledged: such a Set is one of
// those that the audit calls indeterminate.
func witnessed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: witnessed SUMMARY some|none")
	}
	found, there := witnesses.Load(ts.MkAbs("."))
	if !there {
		ts.Fatalf("watchsets comes first")
	}
	a := readSummary(ts, args[0]).Audit
	lost, of := found.(*witness).lost(ts, "ranking")
	ts.Logf("%d of %d members have lost a Set; the audit says %d lost, %d indeterminate", lost, of, a.Lost, a.Indeterminate)
	if least := int64(lost) - int64(a.Indeterminate); a.Lost < least || a.Lost > int64(lost) || of < 100 {
		ts.Fatalf("the audit is wrong")
	}
	if (args[1] == "some") != (a.Lost > 0) {
		ts.Fatalf("%d were lost, want %s", a.Lost, args[1])
	}
}

// cutreplicas cuts the replicas of the folder's local ElastiCache off from their
// primary: what it acknowledges from now on, nobody else has.
func cutReplicas(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: cutreplicas")
	}
	s, err := state.Read(ts.MkAbs("."))
	ts.Check(err)
	ctx := context.Background()
	for _, addr := range s.Addrs() {
		user, password := nodesLogin(ts)
		rdb := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: password, DisableIdentity: true})
		role, err := rdb.Do(ctx, "role").Slice()
		ts.Check(err)
		if role[0] == "master" {
			ts.Check(rdb.Do(ctx, "acl", "setuser", user, "-psync", "-sync").Err())
			ts.Check(rdb.Do(ctx, "client", "kill", "type", "replica").Err())
		}
		ts.Check(rdb.Close())
	}
}

// nodesLogin is what the nodes log in with among themselves.
func nodesLogin(ts *testscript.TestScript) (user, password string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), "rankbench-*", "cluster-*", "*", "redis.conf"))
	ts.Check(err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		ts.Check(err)
		login := regexp.MustCompile(`(?s)masteruser (\S+)\nmasterauth "(\S+)"`).FindSubmatch(text)
		if login != nil {
			return string(login[1]), string(login[2])
		}
	}
	ts.Fatalf("no server's configuration under %s has a login", ts.Getenv("TMPDIR"))
	return "", ""
}
