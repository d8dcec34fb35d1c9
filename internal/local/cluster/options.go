package cluster

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// groupName is what ElastiCache takes as a replication group's name. It goes
// into folder names and configuration files, so nothing else is let through.
var groupName = regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9])*$`)

// maxGroupName is ElastiCache's own limit.
const maxGroupName = 40

// Options say what to run. The zero value is one shard without replicas.
type Options struct {
	Group        string        // replication group; default "lb"; nodes are lb-0001-001 (shard 0001, node 001), with Standalone lb-001
	Shards       int           // default 1
	Replicas     int           // of each shard
	FullCoverage bool          // cluster-require-full-coverage
	NodeTimeout  time.Duration // cluster-node-timeout; default 2 s
	Binary       string        // the server; "" = redis-server, then valkey-server, on PATH
	Dir          string        // must be missing or empty; "" = a fresh folder under Root(), the only place that is swept
	Port         int           // first port to try; 0 = random free ports
	Log          io.Writer     // where the death of a node is told, and what a removal has left; nil = nowhere; never written to after Stop
	Standalone   bool          // one primary and its replicas with cluster-enabled no
	Password     string        // of the default user (ElastiCache's AUTH token); "" = none

	// Restricted denies the default user what ElastiCache denies its users.
	Restricted bool
	// OwnHosts gives each node of a Standalone its own loopback address, all on
	// one port (Port, or a random free one). Linux only.
	OwnHosts bool
	// TLS makes the nodes listen with TLS only, with certificates of a CA that
	// Start makes (Cluster.CAFile).
	TLS bool
	// Names gives further DNS names for the certificate of node id; may be nil.
	Names func(id string) []string
	// OnDeath is called, in a goroutine of its own, when the process of node id has
	// ended without Stop, Kill, Remove, RemoveShard, Replace or Reboot having asked
	// for it, unless it is about to be removed anyway; may be nil.
	OnDeath func(id string)
}

func (o Options) withDefaults() Options {
	if o.Group == "" {
		o.Group = "lb"
	}
	if o.Shards == 0 {
		o.Shards = 1
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// names are the further names of node id.
func (o Options) names(id string) []string {
	if o.Names == nil {
		return nil
	}
	return o.Names(id)
}

// Validate says all that is wrong with the options, before anything is started.
// What is not set is taken as its default.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!groupName.MatchString(o.Group) || len(o.Group) > maxGroupName,
		"group %q: want a letter, then letters, digits and single hyphens, at most %d", o.Group, maxGroupName)
	bad(o.Shards < 1, "shards: %d is not at least 1", o.Shards)
	bad(o.Replicas < 0, "replicas: %d is negative", o.Replicas)
	bad(o.Standalone && o.Shards != 1, "shards: standalone has exactly 1, not %d", o.Shards)
	bad(o.NodeTimeout < 100*time.Millisecond, "node timeout: %v is under 100ms", o.NodeTimeout)
	bad(o.OwnHosts && !o.Standalone, "own hosts: only with standalone")
	if o.OwnHosts && !hostsSupported() {
		errs = append(errs, errNeedsLinux)
	}
	bad(o.Port < 0 || o.Port > lastPort, "port: %d is not between 0 and %d", o.Port, lastPort)
	return errors.Join(errs...)
}
