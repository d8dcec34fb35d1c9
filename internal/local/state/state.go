// Package state knows the local ElastiCache that is up from a folder: the file
// .rankbench/local.json in it says who runs it and where its nodes are. It knows
// no Redis command; the processes are package cluster's.
//
// `rankbench local up` writes the file once its cluster is ready, all other
// commands read it, and whoever ends the cluster removes it:
//
//   - Write, Read, Remove: the file
//   - Launch, StartedBy: the owner as a background process (background.go)
//   - End, Clean: ends the owner, or cleans up after one that was killed (end.go)
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

const (
	version = 1
	folder  = ".rankbench"
	file    = "local.json"
)

var (
	// ErrNone says that no local ElastiCache is up from the folder.
	ErrNone = errors.New("no local ElastiCache is up from this folder")
	// ErrStale says that the file's owner is dead: it was killed and could not
	// clean up. Read returns the state with it.
	ErrStale = errors.New("the local ElastiCache of this folder is gone: its owner was killed")
	// ErrUp says that another owner's local ElastiCache is up already.
	ErrUp = errors.New("a local ElastiCache is already up from this folder")
)

// State is what the file holds.
type State struct {
	Version       int             `json:"version"`
	Group         string          `json:"group"`
	Owner         cluster.Process `json:"owner"` // of the redis-servers: their parent
	Nodes         []Node          `json:"nodes"`
	Server        string          `json:"server"` // path of the redis-server
	ServerVersion string          `json:"server_version"`
	Dir           string          `json:"dir"` // of the nodes' files
	Started       time.Time       `json:"started"`
}

// Node is one node as it was when the file was written.
type Node struct {
	ID    string `json:"id"`
	Shard string `json:"shard"`
	Addr  string `json:"addr"`
	PID   int    `json:"pid"`
}

// Of describes c, with this process as its owner. started is wall time.
func Of(c *cluster.Cluster, group string, started time.Time) (State, error) {
	owner, err := cluster.Self()
	if err != nil {
		return State{}, err
	}
	s := State{
		Version: version, Group: group, Owner: owner, Dir: c.Dir(), Started: started,
		Server: c.Server().Binary, ServerVersion: c.Server().Version,
	}
	for _, n := range c.Nodes() {
		s.Nodes = append(s.Nodes, Node{ID: n.ID, Shard: n.Shard, Addr: n.Addr, PID: n.PID})
	}
	return s, nil
}

// Addrs lists the host:port of all nodes.
func (s State) Addrs() []string {
	addrs := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

// Read reads the state of the folder dir. The error is ErrNone if there is
// none, and ErrStale, with the state, if its owner is dead.
func Read(dir string) (State, error) {
	path := filepath.Join(dir, folder, file)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return State{}, ErrNone
	}
	if err != nil {
		return State{}, fmt.Errorf("read local state: %w", err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, fmt.Errorf("read local state: %s: %w", path, err)
	}
	if s.Version != version {
		return State{}, fmt.Errorf("read local state: %s has version %d, this rankbench knows %d", path, s.Version, version)
	}
	if !s.Owner.Alive() {
		return s, ErrStale
	}
	return s, nil
}

// Write writes the state of the folder dir, all at once. The error is ErrUp if
// there is one of another, live owner.
func Write(dir string, s State) error {
	s.Version = version
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write local state: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
		return fmt.Errorf("write local state: %w", err)
	}
	tmp := filepath.Join(dir, folder, fmt.Sprintf("%s.%d", file, os.Getpid()))
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write local state: %w", err)
	}
	defer os.Remove(tmp) //nolint:errcheck // where it was renamed there is nothing left to remove
	return publish(dir, tmp, s)
}

// publish gives tmp its name. A link, unlike a rename, does not replace: of two
// `local up` at the same time one finds the other's file.
func publish(dir, tmp string, s State) error {
	path := filepath.Join(dir, folder, file)
	err := os.Link(tmp, path)
	if errors.Is(err, os.ErrExist) {
		there, readErr := Read(dir)
		if readErr == nil && there.Owner != s.Owner {
			return ErrUp
		}
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write local state: %w", err)
	}
	return nil
}

// Remove removes the state of the folder dir, if there is one. The folder
// .rankbench goes with it when nothing else is in it.
func Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, folder, file)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove local state: %w", err)
	}
	_ = os.Remove(filepath.Join(dir, folder)) // fails while the log is in it, and may
	return nil
}
