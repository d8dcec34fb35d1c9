//go:build unix && prometheus

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// childBound is far above what the drill takes, 51 s, and what is asked after it.
const childBound = 5 * time.Minute

// child is a process that ends with the test.
type child struct {
	find  *regexp.Regexp
	found chan string   // what the first group of find has matched, once
	ended chan struct{} // closed when it has
	err   error         // how it ended

	mu   sync.Mutex
	text strings.Builder // what it has said
	told bool
}

// startChild starts a process in a folder of its own, and asks it to end when the
// test does; a while later it is killed.
func startChild(t *testing.T, find string, stop syscall.Signal, dir, name string, args ...string) *child {
	t.Helper()
	c := &child{find: regexp.MustCompile(find), found: make(chan string, 1), ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), childBound)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, c, c
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(stop) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-c.ended
	})
	return c
}

func (c *child) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(b)
	if m := c.find.FindStringSubmatch(c.text.String()); m != nil && !c.told {
		c.told = true
		c.found <- m[1]
	}
	return len(b), nil
}

func (c *child) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// wait returns what find finds in what the process says.
func (c *child) wait(t *testing.T) string {
	t.Helper()
	select {
	case s := <-c.found:
		return s
	case <-c.ended:
		t.Fatalf("it has ended, %v:\n%s", c.err, c.said())
	case <-time.After(patience):
		t.Fatalf("it has not said %s:\n%s", c.find, c.said())
	}
	return ""
}

// scrapedRun is a drill with an address for Prometheus, which wait returns.
type scrapedRun struct {
	*child
	out string // its folder
}

func startScraped(t *testing.T) scrapedRun {
	t.Helper()
	scenario, err := filepath.Abs("testdata/prometheus/drill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := poll(serversUnder(dir)); err != nil {
			t.Error(err)
		}
	})
	r := scrapedRun{out: filepath.Join(dir, "out")}
	r.child = startChild(t, `metrics on http://([^/]+)/metrics\n`, syscall.SIGINT, dir,
		"rankbench", "drill", scenario, "--local", "--out", r.out, "--interval", "5s", "--metrics-addr", "127.0.0.1:0")
	return r
}

// summary waits for the drill to end, and reads what came of it.
func (r scrapedRun) summary(t *testing.T) (s result.Summary) {
	t.Helper()
	<-r.ended
	text, err := os.ReadFile(filepath.Join(r.out, "summary.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if r.err != nil || err != nil || len(s.Phases) != 1 || len(s.FailedSteps) > 0 {
		t.Fatalf("the drill: %v, its summary: %v, %d phases, failed steps: %v\n%s", r.err, err, len(s.Phases), s.FailedSteps, r.said())
	}
	return s
}

// promServer is a Prometheus of the test's own.
type promServer struct {
	*child
	url string
}

// startPrometheus starts one with the configuration of the repository, but for the
// address that it scrapes and where the rules are.
func startPrometheus(t *testing.T, target string) promServer {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(filepath.Join(configs, "prometheus-rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := readFile(t, "prometheus.yml")
	for old, instead := range map[string]string{`targets: ["127.0.0.1:9121"]`: fmt.Sprintf("targets: [%q]", target), "[prometheus-rules.yml]": fmt.Sprintf("[%q]", rules)} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("prometheus.yml has not one %s", old)
		}
		text = strings.Replace(text, old, instead, 1)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := promServer{child: startChild(t, `msg="Listening on".* address=(\S+)`, syscall.SIGTERM, dir, tool(t, "prometheus"),
		"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", "127.0.0.1:0")}
	p.url = "http://" + p.wait(t)
	if err := poll(p.ready); err != nil {
		t.Fatalf("%v\n%s", err, p.said())
	}
	return p
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(configs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p promServer) ready() error {
	_, err := p.fetch("/-/ready", nil)
	return err
}

func (p promServer) fetch(path string, params url.Values) ([]byte, error) {
	client := http.Client{Timeout: patience}
	resp, err := client.Get(p.url + path + "?" + params.Encode())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", path, params, resp.Status, body)
	}
	return body, err
}

// get asks the API (https://prometheus.io/docs/prometheus/latest/querying/api/).
func (p promServer) get(t *testing.T, path string, params url.Values, data any) {
	t.Helper()
	body, err := p.fetch("/api/v1/"+path, params)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &struct{ Data any }{data}); err != nil {
		t.Fatalf("%s %s: %v", path, params, err)
	}
}

// promSeries is a series of an answer: the values of a range, or the one of an instant.
type promSeries struct {
	Metric map[string]string
	Values []promValue
	Value  promValue
}

// promValue is a value with its time.
type promValue struct{ at, v float64 }

// UnmarshalJSON reads [seconds, "value"]; the value may be NaN.
func (x *promValue) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &[]any{&x.at, &text})
	if err == nil {
		x.v, err = strconv.ParseFloat(text, 64)
	}
	return err
}

func (s promSeries) last() float64 { return s.Value.v }

// hasData says whether there is a figure, which NaN is not.
func (s promSeries) hasData() bool {
	for _, x := range s.Values {
		if !math.IsNaN(x.v) {
			return true
		}
	}
	return false
}

func (s promSeries) mean() float64 {
	sum := 0.0
	for _, x := range s.Values {
		sum += x.v
	}
	return sum / float64(len(s.Values))
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// between asks for every second from one time to another.
func (p promServer) between(t *testing.T, expr string, from, to time.Time) []promSeries {
	t.Helper()
	var data struct{ Result []promSeries }
	p.get(t, "query_range", url.Values{"query": {expr}, "start": {unix(from)}, "end": {unix(to)}, "step": {"1"}}, &data)
	return data.Result
}

func (p promServer) at(t *testing.T, expr string, at time.Time) []promSeries {
	t.Helper()
	var data struct{ Result []promSeries }
	p.get(t, "query", url.Values{"query": {expr}, "time": {unix(at)}}, &data)
	return data.Result
}

// labelValues are those of the series that were there in a time, in their order, as
// Grafana asks for them.
func (p promServer) labelValues(t *testing.T, selector, label string, from, to time.Time) (values []string) {
	t.Helper()
	p.get(t, "label/"+label+"/values", url.Values{"match[]": {selector}, "start": {unix(from)}, "end": {unix(to)}}, &values)
	return values
}

// ruleHealth is what Prometheus complains of, by rule, "" where it does not.
func (p promServer) ruleHealth(t *testing.T) map[string]string {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get(t, "rules", nil, &data)
	health := map[string]string{}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			health[r.Name] = r.LastError
			if r.Health != "ok" && r.LastError == "" {
				health[r.Name] = "health " + r.Health
			}
		}
	}
	return health
}
