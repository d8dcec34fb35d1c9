//go:build unix

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rankbench/rankbench/internal/result"
)

// tolerance is what an outage may differ from what the plain loops see. They look
// every few milliseconds; beside other tests on two processors each of them may not
// run for a few tenths of a second. `make agreement` has the machine for itself.
var tolerance = flag.Duration("tolerance", 500*time.Millisecond, "what rankbench's outages may differ from those of an independent client")

// TestAgreement holds the outages of a drill against those that another process
// sees, which shares no code with rankbench: plain loops over sockets.
func TestAgreement(t *testing.T) { runScripts(t, "testdata/agreement") }

const (
	besideEvery = 4 * time.Millisecond
	besideLimit = 50 * time.Millisecond // for a connection and for an answer
	besideBound = 90 * time.Second      // if nobody interrupts
)

// gaps are the longest stretches without success, seconds.
type gaps struct {
	Write float64 `json:"write_s"`
	Read  float64 `json:"read_s"` // from replicas
}

// beside is the program "beside FILE": a writer and a reader, plain loops over all
// nodes of the servers under $TMPDIR. At ^C it writes what gaps they saw to FILE.
func beside() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	done := make(chan struct{})
	go func() {
		select {
		case <-stop:
		case <-time.After(besideBound):
		}
		close(done)
	}()
	addrs := besideServers(done)
	var wg sync.WaitGroup
	var g gaps
	wg.Go(func() { g.Write = besideLoop(addrs, done, plainWrite) })
	wg.Go(func() { g.Read = besideLoop(addrs, done, plainRead) })
	wg.Wait()
	text, err := json.Marshal(g)
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var confPort = regexp.MustCompile(`(?m)^port "?(\d+)"?$`)

// besideServers finds the servers by their configurations.
func besideServers(done <-chan struct{}) (addrs []string) {
	tick := time.NewTicker(besideEvery)
	defer tick.Stop()
	for len(addrs) < 3 {
		addrs = nil
		files, _ := filepath.Glob(filepath.Join(os.TempDir(), "rankbench-*", "cluster-*", "*", "redis.conf"))
		for _, path := range files {
			text, _ := os.ReadFile(path)
			if port := confPort.FindSubmatch(text); port != nil {
				addrs = append(addrs, "127.0.0.1:"+string(port[1]))
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return addrs
		}
	}
	return addrs
}

// besideLoop tries one node after another until one does it, again and again. The
// first success is where gaps begin.
func besideLoop(addrs []string, done <-chan struct{}, try func(*plainNode) bool) (gap float64) {
	var nodes []*plainNode
	for _, a := range addrs {
		nodes = append(nodes, &plainNode{addr: a})
	}
	tick := time.NewTicker(besideEvery)
	defer tick.Stop()
	var last time.Time
	for {
		for _, node := range nodes {
			if !try(node) {
				continue
			}
			now := time.Now()
			if !last.IsZero() {
				gap = max(gap, now.Sub(last).Seconds())
			}
			last = now
			break
		}
		select {
		case <-tick.C:
		case <-done:
			return gap
		}
	}
}

// plainNode is a connection that speaks as much of Redis's protocol as is needed.
type plainNode struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

const plainKey = "{ranking}:beside"

func plainWrite(n *plainNode) bool { return n.ask("SET", plainKey, "1") == "+OK" }

func plainRead(n *plainNode) bool {
	if n.ask("ROLE") != "slave" {
		return false
	}
	return strings.HasPrefix(n.ask("GET", plainKey), "$")
}

// ask returns the first line of an answer, for ROLE the role, "" for none.
func (n *plainNode) ask(words ...string) string {
	answer, err := n.exchange(words...)
	if err != nil && n.conn != nil {
		_ = n.conn.Close()
		n.conn = nil
	}
	return answer
}

func (n *plainNode) exchange(words ...string) (string, error) {
	if n.conn == nil {
		conn, err := net.DialTimeout("tcp", n.addr, besideLimit)
		if err != nil {
			return "", err
		}
		n.conn, n.in = conn, bufio.NewReader(conn)
		if _, err := n.exchange("READONLY"); err != nil {
			return "", err
		}
	}
	if err := n.conn.SetDeadline(time.Now().Add(besideLimit)); err != nil {
		return "", err
	}
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := n.conn.Write([]byte(text)); err != nil {
		return "", err
	}
	return n.answer()
}

// answer reads one answer: of an array its first element, and all the rest away.
func (n *plainNode) answer() (string, error) {
	line, err := n.in.ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil || line == "" {
		return "", cmp.Or(err, errors.New("an empty line"))
	}
	count := 0
	_, _ = fmt.Sscanf(line[1:], "%d", &count) // of errors and simple strings nothing follows
	switch {
	case line[0] == '$' && count >= 0:
		text, err := n.in.ReadString('\n')
		if strings.TrimSpace(text) == "1" {
			return line, err
		}
		return strings.TrimSpace(text), err
	case line[0] == '*':
		first := ""
		for i := range count {
			text, err := n.answer()
			if err != nil {
				return "", err
			}
			if i == 0 {
				first = text
			}
		}
		return first, nil
	}
	return line, nil
}

// agrees SUMMARY GAPS [write] [read]: each outage of the service that is named was
// there, and none is longer or shorter than the independent gap by the tolerance and
// by what rankbench itself says it did not see.
func agrees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: agrees SUMMARY GAPS write|read…")
	}
	s := readSummary(ts, args[0])
	var g gaps
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &g))
	for _, what := range args[2:] {
		own, seen := longest(s.ServiceOutages, what), map[string]float64{"write": g.Write, "read": g.Read}[what]
		ts.Logf("%s outage: %.3f s and %.3f s in which rankbench did not run, beside it %.3f s were seen", what, own.DurationS, own.PausedS, seen)
		if own.DurationS == 0 || math.Abs(seen-own.DurationS) > tolerance.Seconds()+own.PausedS {
			ts.Fatalf("%s: they differ by more than %v, or there is none", what, *tolerance)
		}
	}
}

func longest(outages []result.ServiceOutage, what string) (longest result.ServiceOutage) {
	for _, o := range outages {
		if o.What == what && o.ToS-o.FromS > longest.ToS-longest.FromS {
			longest = o
		}
	}
	return longest
}
