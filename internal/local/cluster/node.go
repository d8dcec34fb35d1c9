package cluster

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	confFile = "redis.conf"
	logFile  = "redis.log"
	// tailLines of at most tailBytes are shown of a dead node's output.
	tailLines = 10
	tailBytes = 4096
)

// standing is where a node stands in the cluster.
type standing int

const (
	joining standing = iota // being added: not listed yet, and asked nothing
	member
	absent  // being replaced or rebooted: listed, but asked nothing
	leaving // being removed: listed until its process has ended, but asked nothing
)

// node is one place in the cluster, whichever process fills it.
type node struct {
	id    string
	shard int // from 0
	dir   string
	host  string // with port fixed once it is a member
	port  int

	// Guarded by Cluster.mu.
	primary   bool     // as last known
	clusterID string   // CLUSTER MYID; "" without cluster mode and before it has joined
	standing  standing // only its own change moves a node from member and back
	child     *child   // nil before the first launch
}

// child is one process of a node.
type child struct {
	cmd     *exec.Cmd
	process Process       // zero if it ended at once
	done    chan struct{} // closed when it has ended and been waited for
	err     error         // how it ended; read after done

	// Guarded by Cluster.mu.
	settled bool // it has been of use: from now on its death is told
	asked   bool // to end
}

// exitError says that a node's process ended while it was needed.
type exitError struct {
	id     string
	status error
	tail   string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("%s ended (%s), its last lines:\n%s", e.id, status(e.status), e.tail)
}

// portTaken tells whether the process ended because somebody has its port.
func (e *exitError) portTaken() bool {
	return strings.Contains(e.tail, "Address already in use") || strings.Contains(e.tail, "Failed listening on port")
}

// layOut names all nodes, shard by shard, the primary first.
func layOut(o Options, dir string) []*node {
	var nodes []*node
	for shard := range o.Shards {
		for i := range 1 + o.Replicas {
			n := newNode(o, dir, shard, i+1)
			n.primary, n.standing = i == 0, member
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// newNode names node number (from 1) of a shard (from 0) as ElastiCache does.
func newNode(o Options, dir string, shard, number int) *node {
	id := nodeID(o, shard, number)
	return &node{id: id, shard: shard, dir: filepath.Join(dir, id), host: loopback}
}

func nodeID(o Options, shard, number int) string {
	if o.Standalone {
		return fmt.Sprintf("%s-%03d", o.Group, number)
	}
	return fmt.Sprintf("%s-%s-%03d", o.Group, shardID(shard), number)
}

// shardID is ElastiCache's name of a shard counted from 0.
func shardID(shard int) string { return fmt.Sprintf("%04d", shard+1) }

func (n *node) addr() string { return net.JoinHostPort(n.host, strconv.Itoa(n.port)) }

// public is n for others. The caller holds Cluster.mu.
func (n *node) public() Node {
	p := Node{ID: n.id, Shard: shardID(n.shard), Addr: n.addr(), Host: n.host, Port: n.port, Primary: n.primary}
	if n.alive() {
		p.PID = n.child.pid()
	}
	return p
}

// alive tells whether the node has a process. The caller holds Cluster.mu.
func (n *node) alive() bool {
	if n.child == nil {
		return false
	}
	select {
	case <-n.child.done:
		return false
	default:
		return true
	}
}

// exited is the error of a process that has ended, nil while it runs.
func (n *node) exited() error {
	if n.alive() {
		return nil
	}
	return &exitError{id: n.id, status: n.child.err, tail: n.tail()}
}

// tail is the end of what the node has printed, indented.
func (n *node) tail() string {
	data, err := readEnd(filepath.Join(n.dir, logFile), tailBytes)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := slices.DeleteFunc(strings.Split(string(data), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	lines = lines[max(0, len(lines)-tailLines):]
	return "  " + strings.Join(lines, "\n  ")
}

// readEnd reads the last size bytes of a file.
func readEnd(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-size), size))
}

func (ch *child) pid() int { return ch.cmd.Process.Pid }

func (ch *child) signal(s os.Signal) error { return ch.cmd.Process.Signal(s) }

// status says how a process ended, in words.
func status(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}
