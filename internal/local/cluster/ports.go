package cluster

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
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
// gets another.
type places interface {
	take() (host string, port int, err error)
	release(host string, port int)
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

// ports hands out ports of 127.0.0.1.
type ports struct {
	first int        // first port to try, if one was wished for
	rand  *rand.Rand // else

	mu   sync.Mutex
	used map[int]bool
}

func newPorts(first int) *ports {
	p := &ports{first: first, used: map[int]bool{}}
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
		if p.used[port] || p.used[port+busOffset] || p.used[port-busOffset] {
			continue
		}
		if free(loopback, port) && free(loopback, port+busOffset) {
			p.used[port] = true
			return loopback, port, nil
		}
	}
	return "", 0, errors.New("no free port whose port+10000 is free too")
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
	delete(p.used, port)
}
