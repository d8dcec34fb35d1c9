package cluster

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	loopback = "127.0.0.1"
	// busOffset is what Redis adds to a node's port for the cluster bus.
	busOffset = 10000
	// lastPort is the highest port whose bus port still exists.
	lastPort = 65535 - busOffset
	// Random ports come from [firstRandom, firstRandom+busOffset). Their bus
	// ports end below 30000, so that no bus port is another node's port, and all
	// stay under 32768, where Linux begins to give ports to outgoing connections.
	firstRandom = 10000
)

// places hands out addresses that nobody listens on, each to one node at a
// time. Somebody else may still be faster to bind one: the node then exits and
// gets another. After close nothing is given away any more.
type places interface {
	take() (host string, port int, err error)
	release(host string, port int)
	close()
}

var (
	_ places = (*ports)(nil)
	_ places = (*hosts)(nil)
)

// newPlaces are those that o asks for.
func newPlaces(o Options) places {
	if o.OwnHosts {
		return newHosts(o.Port)
	}
	return newPorts(o.Port)
}

// ports hands out ports of 127.0.0.1. A port is claimed for as long as it is given
// away, also while its node is down: another cluster that took it would have this
// one's nodes come to it, and the two become one (the cluster bus asks nobody who
// they are).
type ports struct {
	first int        // first port to try, if one was wished for
	rand  *rand.Rand // else

	mu   sync.Mutex
	used map[int]portClaim
}

// portClaim keeps a port and its bus port from other clusters, whatever process they
// are of: it listens on the same ports of claimHost. Where that address is not there
// (only Linux has all of 127.0.0.0/8), it claims nothing.
type portClaim []net.Listener

const claimHost = "127.1.0.1"

func newClaim(port int) (c portClaim, ok bool) {
	for _, p := range []int{port, port + busOffset} {
		l, err := net.Listen("tcp", net.JoinHostPort(claimHost, strconv.Itoa(p)))
		if errors.Is(err, syscall.EADDRINUSE) {
			c.end()
			return nil, false
		}
		if err == nil {
			c = append(c, l)
		}
	}
	return c, true
}

func (c portClaim) end() {
	for _, l := range c {
		_ = l.Close() // nobody was let in
	}
}

func newPorts(first int) *ports {
	p := &ports{first: first, used: map[int]portClaim{}}
	if first == 0 {
		// Not from the scenario's seed: two runs at a time must not try the same ports.
		p.rand = rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	}
	return p
}

// take returns a port that is free together with its bus port.
func (p *ports) take() (string, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for try := range busOffset {
		port := p.candidate(try)
		if port > lastPort {
			break
		}
		c, ok := newClaim(port)
		if !ok || p.known(port) {
			c.end()
			continue
		}
		if free(loopback, port) && free(loopback, port+busOffset) {
			p.used[port] = c
			return loopback, port, nil
		}
		c.end()
	}
	return "", 0, errors.New("no free port whose port+10000 is free too")
}

// known tells whether a port or its bus port was given away by p itself.
func (p *ports) known(port int) bool {
	for _, taken := range []int{port, port + busOffset, port - busOffset} {
		if _, is := p.used[taken]; is {
			return true
		}
	}
	return false
}

func (p *ports) candidate(try int) int {
	if p.rand != nil {
		return firstRandom + p.rand.IntN(busOffset)
	}
	return p.first + try
}

// release takes a port back.
func (p *ports) release(_ string, port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[port].end()
	delete(p.used, port)
}

func (p *ports) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for port, c := range p.used {
		c.end()
		delete(p.used, port)
	}
}
