package control

import (
	"io"
	"net/netip"
	"time"
)

// Options say how the control plane behaves. Timings has no default; what else
// is zero takes the default named.
type Options struct {
	Region         string        // default us-east-1
	Timings        Profile       // how long things take
	Style          FailoverStyle // how TestFailover takes a primary down; default Kill
	FailoverStatus string        // of a group while it fails over: Available (default) or Modifying
	FailoverQuota  int           // node groups that TestFailover takes in 24 h; 0 = any number
	Wording        Wording       // of the failover event; default Observed

	Binary       string        // the server; "" = redis-server, then valkey-server, on PATH
	Port         int           // first port to try for nodes; 0 = random free ones
	NodeTimeout  time.Duration // cluster-node-timeout
	FullCoverage bool          // cluster-require-full-coverage

	Names   Names     // the names of groups with cluster mode disabled; nil refuses such groups
	Zone    string    // that the names end with, such as "cache.rankbench.test."
	Log     io.Writer // what has no place in the API: deaths of nodes, operations that failed; nil = nowhere
	Changed func()    // called, from any goroutine and without locks held, when nodes or groups have changed
}

// FailoverStyle is how TestFailover takes a primary down.
type FailoverStyle string

// The styles: a process that is gone refuses connections at once, one that
// hangs (SIGSTOP) lets them run into their timeouts.
const (
	Kill FailoverStyle = "kill"
	Hang FailoverStyle = "hang"
)

// Wording is how the end of a failover reads in the events.
type Wording string

// The wordings: as logs of real groups have it, and as the API reference does.
const (
	Observed   Wording = "observed"
	Documented Wording = "documented"
)

// Names is told the addresses of the endpoints' names.
type Names interface {
	Set(name string, ttl time.Duration, addrs ...netip.Addr)
	Delete(name string)
}

func (o Options) withDefaults() Options {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Style == "" {
		o.Style = Kill
	}
	if o.FailoverStatus == "" {
		o.FailoverStatus = Available
	}
	if o.Wording == "" {
		o.Wording = Observed
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return o
}
