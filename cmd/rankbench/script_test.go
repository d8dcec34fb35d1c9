//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rankbench": main, "status": status, "beside": beside})
}

// TestScripts runs testdata/script: every command and every error, as a user
// types and sees them. Beside testscript's own commands there are those below.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func runScripts(t *testing.T, dir string) {
	t.Helper()
	clustertest.Require(t)
	scenarios, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCENARIOS", scenarios)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // -race sleeps a second at each exit code 0
			env.Defer(func() { leaveNothing(t, env.WorkDir) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"waitfor":   waitfor,
			"accounted": accounted,
			"server":    server,
			"killowner": killOwner,
			"filling":   filling,
			"call":      call,
			"drilled":   drilled,
			"reduced":   reduced,
			"elsewhere": elsewhere,
			"eachfile":  eachFile,
			"agrees":    agrees,

			"clientcost":  clientCost,
			"watchsets":   watchSets,
			"witnessed":   witnessed,
			"cutreplicas": cutReplicas,
			"noservers":   func(ts *testscript.TestScript, _ bool, _ []string) { noServers(ts) },
		},
	})
}

// patience bounds waits for what takes a healthy machine some seconds at most.
const patience = 60 * time.Second

// exits CODE COMMAND… runs a command that must end with exactly this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// status is the program "status [-hup] COMMAND…": it runs a command in the background
// of a script, hands ^C on to it, and says its exit code on stderr. With -hup the ^C
// becomes what a terminal that goes away sends: SIGHUP, twice (from the shell and
// from the kernel).
func status() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	args, times := os.Args[1:], 1
	if args[0] == "-hup" {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // the command is not to inherit that it is ignored, as under nohup
		args, times = args[1:], 2
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		for s := range signals {
			if times > 1 {
				s = syscall.SIGHUP
			}
			for range times {
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	_ = cmd.Wait() // the code says it
	fmt.Fprintf(os.Stderr, "exit code %d\n", cmd.ProcessState.ExitCode())
}

// waitfor FILE PATTERN waits until a line of the file matches.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(poll(func() error {
		data, err := os.ReadFile(path)
		if err == nil && !pattern.Match(data) {
			err = fmt.Errorf("%s has no %s", path, pattern)
		}
		return err
	}))
}

// poll asks until check has no complaint, and returns its last one when the time is over.
func poll(check func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("after %v: %w", patience, err)
		}
	}
}

// accounted FILE: it is exactly one JSON document, a summary in which every
// operation that was due is ok, an error or unsent. FILE may be stdout.
func accounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: accounted FILE")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var s result.Summary
	ts.Check(d.Decode(&s))
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("more follows the document: %v", err)
	}
	if len(s.Phases) == 0 {
		ts.Fatalf("no phase")
	}
	for _, p := range s.Phases {
		for op, o := range p.Ops {
			sum := o.OK + o.Unsent
			for _, n := range o.Errors {
				sum += n
			}
			if o.Due == 0 || o.Due != sum {
				ts.Fatalf("%s %s: due %d, ok + errors + unsent is %d", p.Name, op, o.Due, sum)
			}
		}
	}
}

// drilled FILE: it is the summary of a drill with a failover, complete: every
// outage is divided into service and client, every operation has its levels, and
// acknowledged Sets were read back.
func drilled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: drilled FILE")
	}
	s := readSummary(ts, args[0])
	if len(s.Outages) == 0 || len(s.ServiceOutages) == 0 {
		ts.Fatalf("%d outages, %d of the service: a failover has both", len(s.Outages), len(s.ServiceOutages))
	}
	for _, o := range s.Outages {
		if o.ServiceS == nil || o.ClientS == nil {
			ts.Fatalf("outage of %s at %.2f s is not divided", o.Op, o.FromS)
		}
		if sum := *o.ServiceS + *o.ClientS + o.PausedS; math.Abs(sum-o.DurationS) > 0.02 {
			ts.Fatalf("outage of %s: its parts are %.2f s, all of it %.2f s", o.Op, sum, o.DurationS)
		}
	}
	sets := uint64(0)
	for _, p := range s.Phases {
		sets += p.Ops["set"].OK + p.WarmupOps["set"].OK
		for op := range p.Ops {
			if l := s.Levels[op]; l.BaselineRPS == nil || l.DegradedRPS == nil || l.RestoredRPS == nil {
				ts.Fatalf("%s has not all levels: %+v", op, l)
			}
		}
	}
	stretches := ""
	for _, st := range s.Stretches {
		stretches += st.Name + " "
	}
	if stretches != "baseline alone restored " {
		ts.Fatalf("stretches: %s", stretches)
	}
	if s.Audit == nil || s.Audit.Acknowledged != sets || s.Audit.Checked == 0 {
		ts.Fatalf("%d sets were acknowledged, the audit is %+v", sets, s.Audit)
	}
}

// clientcost SUMMARY LEAST MOST: the longest outage of Set has so much in it that is
// the client's.
func clientCost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: clientcost SUMMARY LEAST MOST")
	}
	least, err := time.ParseDuration(args[1])
	ts.Check(err)
	most, err := time.ParseDuration(args[2])
	ts.Check(err)
	var worst result.Outage
	for _, o := range readSummary(ts, args[0]).Outages {
		if o.Op == "set" && o.DurationS > worst.DurationS {
			worst = o
		}
	}
	if worst.ServiceS == nil || worst.ClientS == nil || worst.Open {
		ts.Fatalf("no outage of set that has ended and is divided: %+v", worst)
	}
	ts.Logf("%s: %.2f s = service %.2f s + client %.2f s", args[0], worst.DurationS, *worst.ServiceS, *worst.ClientS)
	if *worst.ClientS < least.Seconds() || *worst.ClientS > most.Seconds() {
		ts.Fatalf("the client's part is not within %s … %s", args[1], args[2])
	}
}

func readSummary(ts *testscript.TestScript, file string) (s result.Summary) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &s))
	return s
}

// reduced SHARE OF runs every OF-th file of scenarios/, from the SHARE-th on,
// with --local and at reduced size: whatever else the folder comes to hold is run.
func reduced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reduced SHARE OF")
	}
	share, err := strconv.Atoi(args[0])
	ts.Check(err)
	of, err := strconv.Atoi(args[1])
	ts.Check(err)
	for i, path := range scenarioFiles(ts) {
		if i%of == share {
			runReduced(ts, path)
		}
	}
}

func scenarioFiles(ts *testscript.TestScript) []string {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("SCENARIOS"), "*.yaml"))
	ts.Check(err)
	if len(files) < 30 {
		ts.Fatalf("%d scenarios in %s", len(files), ts.Getenv("SCENARIOS"))
	}
	return files
}

func runReduced(ts *testscript.TestScript, path string) {
	sc, err := scenario.Read(path, scenario.Overrides{})
	ts.Check(err)
	name := filepath.Base(path)
	out := filepath.Join(ts.Getenv("WORK"), "out-"+name)
	command := "load"
	if sc.Drill != nil {
		command = "drill"
	}
	err = ts.Exec("rankbench", append([]string{command, path, "--local", "--out", out}, smaller(sc)...)...)
	if err != nil {
		ts.Fatalf("%s: %v", name, err)
	}
	accounted(ts, false, []string{out + "/summary.json"})
	s := readSummary(ts, out+"/summary.json")
	if len(s.FailedSteps) > 0 || len(s.NotRestored) > 0 || s.Verdict == "fail" || (s.Audit != nil) != sc.Audit {
		ts.Fatalf("%s: failed %v, not restored %v, verdict %s %+v, audit %+v", name, s.FailedSteps, s.NotRestored, s.Verdict, s.Limits, s.Audit)
	}
}

// smaller overrides a scenario such that it takes seconds.
func smaller(sc *scenario.Scenario) []string {
	length := "1s"
	set := []string{"ranking.members=2000", "ranking.score_spread=100"}
	if sc.Drill != nil {
		length = "7s" // a failover is to be over before the load is
		set = append(set, "drill.steps.0.at=1s", "drill.settle=50s", "drill.repeat=1", "drill.cooldown=0s")
	}
	for i, p := range sc.Phases {
		set = append(set, fmt.Sprintf("phases.%d.warmup=0s", i))
		for _, l := range p.Ops {
			size := "workers=2"
			if l.Rate > 0 || sc.Drill != nil { // beside a step, there is to be a processor left
				size = "rate=50"
			}
			set = append(set, fmt.Sprintf("phases.%d.ops.%s.%s", i, l.Kind, size))
		}
	}
	args := []string{"--duration", length}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	return args
}

// eachfile COMMAND… runs a command with each file of scenarios/ as its last
// argument; it must succeed.
func eachFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eachfile COMMAND…")
	}
	for _, path := range scenarioFiles(ts) {
		if err := ts.Exec(args[0], append(args[1:], path)...); err != nil {
			ts.Fatalf("%s: %v", path, err)
		}
	}
}

// elsewhere makes the folder's local ElastiCache look like one that is not on
// loopback: http://*.elsewhere.test leads to it, by a proxy. Nothing leaves this
// host: no name is looked up, and whatever else is asked for the proxy refuses.
func elsewhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: elsewhere")
	}
	s, err := state.Read(ts.MkAbs("."))
	ts.Check(err)
	api, err := url.Parse(s.API)
	ts.Check(err)
	forward := httputil.NewSingleHostReverseProxy(api)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect || !strings.HasSuffix(r.URL.Hostname(), ".elsewhere.test") {
			http.Error(w, "not from here", http.StatusForbidden)
			return
		}
		r.URL.Scheme, r.URL.Host, r.Host = "", "", api.Host
		forward.ServeHTTP(w, r)
	}))
	ts.Defer(proxy.Close)
	for name, value := range map[string]string{
		"HTTP_PROXY": proxy.URL, "HTTPS_PROXY": proxy.URL, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "http://aws.elsewhere.test", "AWS_REGION": s.Region,
	} {
		ts.Setenv(name, value)
	}
}

// server NAME [PASSWORD] starts a server of its own, not clustered; its address
// is in the environment variable NAME.
func server(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: server NAME [PASSWORD]")
	}
	o := cluster.Options{Standalone: true}
	if len(args) > 1 {
		o.Password = args[1]
	}
	c, err := cluster.Start(context.Background(), o)
	ts.Check(err)
	ts.Defer(func() { ts.Check(c.Stop()) })
	ts.Setenv(args[0], c.Addrs()[0])
}

// filling KEY waits until the server at $ADDR has some of a ranking.
func filling(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: filling KEY")
	}
	rdb := redis.NewClient(&redis.Options{Addr: ts.Getenv("ADDR"), DisableIdentity: true})
	defer rdb.Close()
	ts.Check(poll(func() error {
		n, err := rdb.ZCard(context.Background(), args[0]).Result()
		if err == nil && n == 0 {
			err = errors.New("nothing there")
		}
		return err
	}))
}

// call ACTION NAME=VALUE… calls the API of the folder's local ElastiCache. A
// group it creates has one node, cluster mode enabled, unless it says otherwise.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: call ACTION NAME=VALUE…")
	}
	s, err := state.Read(ts.MkAbs("."))
	ts.Check(err)
	form := url.Values{"Version": {"2015-02-02"}, "Action": {args[0]}}
	if args[0] == "CreateReplicationGroup" {
		form.Set("ReplicationGroupDescription", "of a script")
		form.Set("CacheParameterGroupName", "default.redis7.cluster.on")
		form.Set("NumNodeGroups", "1")
		form.Set("ReplicasPerNodeGroup", "0")
	}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		form.Set(name, value)
	}
	resp, err := http.PostForm(s.API, form)
	ts.Check(err)
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", resp.Status, said)
	}
}

// killowner kills the owner of the folder's local ElastiCache with SIGKILL.
func killOwner(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := state.Read(ts.MkAbs("."))
	ts.Check(err)
	ts.Check(syscall.Kill(s.Owner.PID, syscall.SIGKILL))
	ts.Check(poll(func() error {
		if s.Owner.Alive() {
			return fmt.Errorf("process %d lives", s.Owner.PID)
		}
		return nil
	}))
}

// noservers: no redis-server of this script is left.
func noServers(ts *testscript.TestScript) { ts.Check(poll(serversUnder(ts.Getenv("WORK")))) }

// serversUnder complains of redis-servers whose files are under the folder:
// their configuration's path is on their command lines.
func serversUnder(folder string) func() error {
	return func() error {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range all {
			line, _ := os.ReadFile(path) // it may have ended meanwhile
			if words := strings.ReplaceAll(string(line), "\x00", " "); strings.Contains(words, folder) && strings.Contains(words, "redis.conf") {
				return fmt.Errorf("still there: %s", words)
			}
		}
		return nil
	}
}

// leaveNothing ends what a script that failed may have left, and complains of
// what should not be there any more.
func leaveNothing(t *testing.T, work string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := state.End(ctx, work); err != nil && !errors.Is(err, state.ErrNone) && !errors.Is(err, state.ErrStale) {
		t.Error(err)
	}
	if err := poll(serversUnder(work)); err != nil {
		t.Error(err)
	}
}
