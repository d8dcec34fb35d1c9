package cluster

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
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

// ports hands out ports that nobody listens on, each once. Somebody else may
// still be faster to bind one: the node then exits and gets another.
type ports struct {
	next int        // next port to try, if a first one was wished for
	rand *rand.Rand // else
	used map[int]bool
}

func newPorts(first int) *ports {
	p := &ports{next: first, used: map[int]bool{}}
	if first == 0 {
		// Not from the scenario's seed: two runs at a time must not try the same ports.
		p.rand = rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	}
	return p
}

// take returns a port that is free together with its bus port.
func (p *ports) take() (int, error) {
	for range busOffset {
		port := p.candidate()
		if port > lastPort {
			break
		}
		if p.used[port] || p.used[port+busOffset] || p.used[port-busOffset] {
			continue
		}
		if free(port) && free(port+busOffset) {
			p.used[port] = true
			return port, nil
		}
	}
	return 0, errors.New("no free port whose port+10000 is free too")
}

func (p *ports) candidate() int {
	if p.rand != nil {
		return firstRandom + p.rand.IntN(busOffset)
	}
	p.next++
	return p.next - 1
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
