package action

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

// Names knows which node is at which address, of a group of which nothing but
// ElastiCache tells: servers name each other by IP address where ElastiCache gives
// host names, and a node that is replaced comes back at another address. It is
// safe for concurrent use.
type Names struct {
	client   *aws.Client
	group    string
	resolver *net.Resolver
	unknown  chan struct{} // an address was asked for that is not known

	mu     sync.Mutex
	nodes  map[string]string // ids by host:port, by name and by IP address
	shared map[string]bool   // endpoints, which are no node's own
}

// NewNames makes a Names that knows nothing yet; a nil resolver is the system's.
func NewNames(c *aws.Client, group string, r *net.Resolver) *Names {
	return &Names{client: c, group: group, resolver: r, unknown: make(chan struct{}, 1), nodes: map[string]string{}, shared: map[string]bool{}}
}

// Of is the id of the node at an address, "" if it is not known. It waits for
// nothing: Run learns what it did not know.
func (n *Names) Of(addr string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, known := n.nodes[addr]
	if !known && !n.shared[addr] {
		select {
		case n.unknown <- struct{}{}:
		default:
		}
	}
	return id
}

// Run learns again when there is an address that is not known, at most every so
// often, until ctx ends. What cannot be learned is tried again.
func (n *Names) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-n.unknown:
			_ = n.Learn(ctx) // who asks AWS for more than names tells what is the matter with it
		}
	}
}

// Learn describes the group and looks its names up.
func (n *Names) Learn(ctx context.Context) error {
	g, err := n.client.Group(ctx, n.group)
	if err != nil {
		return fmt.Errorf("learn the addresses of the nodes: %w", err)
	}
	for _, m := range g.Members() {
		if m.Addr != "" {
			n.enter(m, n.lookUp(ctx, m.Addr))
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shared[g.Configuration] = true
	for _, s := range g.Shards {
		n.shared[s.Primary], n.shared[s.Reader] = true, true
	}
	return nil
}

// enter takes over where a node is. Where it was before is forgotten, unless its
// name leads nowhere now: that may pass.
func (n *Names) enter(m aws.Member, at []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(at) > 0 {
		maps.DeleteFunc(n.nodes, func(_, id string) bool { return id == m.ID })
	}
	for _, addr := range append(at, m.Addr) {
		n.nodes[addr] = m.ID
	}
}

// lookupWithin is for one name: those of AWS take milliseconds.
const lookupWithin = 2 * time.Second

// lookUp is where a host:port leads, as IP addresses with its port.
func (n *Names) lookUp(ctx context.Context, addr string) (at []string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	ips, _ := n.resolver.LookupHost(ctx, host) // a name that leads nowhere may do so later
	for _, ip := range ips {
		at = append(at, net.JoinHostPort(ip, port))
	}
	return at
}
