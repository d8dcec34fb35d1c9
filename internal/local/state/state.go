// Package state knows the local ElastiCache that is up from a folder: the file
// .rankbench/local.json in it says who runs it and where its nodes are. It knows
// no Redis command; the processes are package cluster's.
//
// `rankbench local up` writes the file once its first group is available, and
// again whenever nodes have changed or an operation has begun or ended; all other
// commands read it, and whoever ends the local ElastiCache removes it:
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
	version = 2
	folder  = ".rankbench"
	file    = "local.json"
	// secretFile holds the AUTH token, which stands nowhere else.
	secretFile = "auth-token"
	// keptFolder is package keep's, and outlives the local ElastiCache.
	keptFolder = "kept"
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
	Version        int             `json:"version"`
	Owner          cluster.Process `json:"owner"` // of the redis-servers: their parent
	API            string          `json:"api"`   // URL of the AWS API
	Region         string          `json:"region"`
	Resolver       string          `json:"resolver,omitempty"` // host:port of the DNS server
	Group          string          `json:"group"`              // the first one, which commands without a config go against
	ClusterEnabled bool            `json:"cluster_enabled"`    // of that group, as all up to PasswordFile
	Primary        string          `json:"primary,omitempty"`  // host:port of the primary endpoint; cluster mode disabled
	Reader         string          `json:"reader,omitempty"`
	CAFile         string          `json:"ca_file,omitempty"`       // with TLS
	PasswordFile   string          `json:"password_file,omitempty"` // with an AUTH token
	Nodes          []Node          `json:"nodes"`                   // of all groups
	Groups         []Group         `json:"groups,omitempty"`        // the first one, while it is there, first
	Server         string          `json:"server"`                  // path of the redis-server
	ServerVersion  string          `json:"server_version"`
	Dirs           []string        `json:"dirs"` // of the nodes' files
	Started        time.Time       `json:"started"`
}

// Node is one node as it was when the file was written.
type Node struct {
	Group string `json:"group"`
	ID    string `json:"id"`
	Shard string `json:"shard"`
	Addr  string `json:"addr"`
	PID   int    `json:"pid"` // 0 while it is down
}

// Group is what it takes to make a replication group again, as it was when the
// file was written, but for its AUTH token. One that is being created has no
// shards yet; one that is being deleted is here until it is gone.
type Group struct {
	ID                string            `json:"id"`
	Description       string            `json:"description"`
	Engine            string            `json:"engine"`
	NodeType          string            `json:"node_type"`
	ClusterEnabled    bool              `json:"cluster_enabled"`
	Shards            int               `json:"shards"`
	Replicas          int               `json:"replicas"` // of the shard that has most
	AutomaticFailover bool              `json:"automatic_failover"`
	MultiAZ           bool              `json:"multi_az"`
	TLS               bool              `json:"tls"`
	AuthToken         bool              `json:"auth_token"`        // whether it has one
	CAFile            string            `json:"ca_file,omitempty"` // with TLS
	Tags              map[string]string `json:"tags,omitempty"`
	Status            string            `json:"status,omitempty"` // as the API shows it
	Busy              string            `json:"busy,omitempty"`   // the operation that goes on
}

// Addrs lists the host:port of the first group's nodes.
func (s State) Addrs() []string {
	return Addrs(s.NodesOf(s.Group))
}

// NodesOf lists the nodes of one group.
func (s State) NodesOf(group string) []Node {
	var nodes []Node
	for _, n := range s.Nodes {
		if n.Group == group {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Addrs lists the host:port of nodes, in their order.
func Addrs(nodes []Node) []string {
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr)
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
	// The state last: while it is there, nobody else writes a secret.
	for _, path := range []string{SecretPath(dir), filepath.Join(dir, folder, file)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove local state: %w", err)
		}
	}
	_ = os.Remove(filepath.Join(dir, folder)) // fails while the log is in it, and may
	return nil
}

// KeptPath is the folder of what `rankbench local down --keep` has kept of dir.
func KeptPath(dir string) string { return filepath.Join(dir, folder, keptFolder) }

// SecretPath is where the AUTH token of the folder's first group is, if it has one.
func SecretPath(dir string) string { return filepath.Join(dir, folder, secretFile) }

// WriteSecret writes the AUTH token, for this user alone. It is for the owner
// whose state is written: another's token would be lost.
func WriteSecret(dir, token string) error {
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
		return fmt.Errorf("write the AUTH token: %w", err)
	}
	if err := os.WriteFile(SecretPath(dir), []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the AUTH token: %w", err)
	}
	return nil
}
