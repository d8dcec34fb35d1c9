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

	"github.com/redis/go-redis/v9"
)

const (
	confFile = "redis.conf"
	logFile  = "redis.log"
	// tailLines of at most tailBytes are shown of a dead node's output.
	tailLines = 10
	tailBytes = 4096
)

// node is one place in the cluster, whichever process fills it.
type node struct {
	id      string
	shard   int // from 0
	primary bool
	dir     string
	port    int           // set before Start returns, then fixed
	client  *redis.Client // only while the cluster is formed
	child   *child        // guarded by Cluster.mu; nil before the first launch
}

// child is one process of a node.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and been waited for
	err  error         // how it ended; read after done
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
			id := fmt.Sprintf("%s-%04d-%03d", o.Group, shard+1, i+1)
			nodes = append(nodes, &node{id: id, shard: shard, primary: i == 0, dir: filepath.Join(dir, id)})
		}
	}
	return nodes
}

func (n *node) addr() string { return net.JoinHostPort(loopback, strconv.Itoa(n.port)) }

func (n *node) public() Node {
	p := Node{ID: n.id, Shard: fmt.Sprintf("%04d", n.shard+1), Addr: n.addr(), Primary: n.primary}
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

func (n *node) hangUp() {
	if n.client != nil {
		_ = n.client.Close() // nothing is in flight on it
		n.client = nil
	}
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
