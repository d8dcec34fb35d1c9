package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// conf renders the redis.conf of n. A file and not arguments, so that the
// password shows in no process list.
func (c *Cluster) conf(n *node) string {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }

	set("bind", n.host) // never anything but loopback: there may be no password
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
	if c.server.atLeast(6, 2) {
		set("set-proc-title", "no") // keeps the file's path in the process list, by which sweep knows its own
		set("rdb-del-sync-files", "yes")
	}
	if c.server.atLeast(7, 0) {
		set("shutdown-timeout", 0) // all nodes end together: a primary would wait for replicas that are gone
	}
	c.confListen(n, set)
	c.confACL(set)
	if c.opts.Standalone {
		c.confStandalone(n, set)
	} else {
		c.confCluster(set)
	}
	return b.String()
}

// confListen says where n listens, and with TLS how.
func (c *Cluster) confListen(n *node, set func(string, any)) {
	if c.ca == nil {
		set("port", n.port)
		return
	}
	set("port", 0)
	set("tls-port", n.port)
	set("tls-cert-file", strconv.Quote(filepath.Join(n.dir, certFile)))
	set("tls-key-file", strconv.Quote(filepath.Join(n.dir, keyFile)))
	set("tls-ca-cert-file", strconv.Quote(c.ca.file))
	set("tls-auth-clients", "no")
	set("tls-replication", "yes")
	set("tls-cluster", "yes")
}

func (c *Cluster) confStandalone(n *node, set func(string, any)) {
	if c.opts.OwnHosts {
		// What the primary lists otherwise is where the connection comes from.
		set("replica-announce-ip", n.host)
		// Before 7.0 it lets in nobody but 127.0.0.1, and a replica comes from its own address.
		set("protected-mode", "no")
	}
	if p := c.knownPrimary(n.shard); p != n {
		set("replicaof", fmt.Sprintf("%s %d", p.host, p.port))
	}
}

func (c *Cluster) confCluster(set func(string, any)) {
	set("cluster-enabled", "yes")
	set("cluster-config-file", "nodes.conf")
	set("cluster-announce-ip", loopback)
	set("cluster-node-timeout", c.opts.NodeTimeout.Milliseconds())
	set("cluster-require-full-coverage", yesNo(c.opts.FullCoverage))
	// Without full coverage the replicas of a dead primary are to go on answering.
	// They do not by themselves where the others are no majority, as with one or
	// two shards: they count as cut off then.
	set("cluster-allow-reads-when-down", yesNo(!c.opts.FullCoverage))
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
