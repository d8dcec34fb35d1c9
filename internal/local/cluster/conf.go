package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// conf renders the redis.conf of n. A file and not arguments, so that the
// password shows in no process list.
func (c *Cluster) conf(n *node) string {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }

	set("bind", loopback) // never anything else: there may be no password
	set("port", n.port)
	set("dir", strconv.Quote(n.dir))
	set("daemonize", "no")
	set("save", `""`)
	set("appendonly", "no")
	set("maxclients", 10000)
	set("loglevel", "notice")
	// Full syncs at once and without a detour over the disk, and buffers that
	// hold while ten million members are filled in at full speed: with the
	// default 256 MB a replica is cut off in the middle and starts again.
	set("repl-diskless-sync", "yes")
	set("repl-diskless-sync-delay", 0)
	set("repl-backlog-size", "64mb")
	set("client-output-buffer-limit", "replica 2gb 1gb 120")
	// The default of 10 s would leave the offset of an idle primary at 0 for as long.
	set("repl-ping-replica-period", 1)
	if c.opts.Password != "" {
		set("requirepass", strconv.Quote(c.opts.Password))
		set("masterauth", strconv.Quote(c.opts.Password))
	}
	if c.server.atLeast(6, 2) {
		set("set-proc-title", "no") // keeps the file's path in the process list, by which sweep knows its own
		set("rdb-del-sync-files", "yes")
	}
	if c.server.atLeast(7, 0) {
		set("shutdown-timeout", 0) // all nodes end together: a primary would wait for replicas that are gone
	}
	if c.opts.Standalone {
		c.confStandalone(n, set)
	} else {
		c.confCluster(set)
	}
	return b.String()
}

func (c *Cluster) confStandalone(n *node, set func(string, any)) {
	if !n.primary {
		set("replicaof", fmt.Sprintf("%s %d", loopback, c.nodes[0].port))
	}
}

func (c *Cluster) confCluster(set func(string, any)) {
	set("cluster-enabled", "yes")
	set("cluster-config-file", "nodes.conf")
	set("cluster-announce-ip", loopback)
	set("cluster-node-timeout", c.opts.NodeTimeout.Milliseconds())
	set("cluster-require-full-coverage", yesNo(c.opts.FullCoverage))
	// ElastiCache never moves a replica to another shard. Redis does by default
	// (measured: 5 s after the other shard lost its last one).
	set("cluster-migration-barrier", 1_000_000)
	if c.server.atLeast(7, 0) {
		set("cluster-allow-replica-migration", "no")
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
