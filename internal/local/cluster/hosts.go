package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"sync"
)

// errNeedsLinux says why OwnHosts is not for every system: elsewhere only
// 127.0.0.1 itself is there without an administrator having added more.
var errNeedsLinux = errors.New("a loopback address for each node needs Linux, where all of 127.0.0.0/8 is on loopback")

// hosts hands out loopback addresses of one random /24 network, on each of which
// one and the same port is free. The network is random so that two clusters do
// not get in each other's way.
type hosts struct {
	net  [2]int // of 127.x.y.z
	port int

	mu   sync.Mutex
	used map[int]bool // by z
}

// newHosts chooses the network, and the port if it is 0.
func newHosts(port int) *hosts {
	h := &hosts{net: [2]int{16 + rand.IntN(224), 1 + rand.IntN(254)}, port: port, used: map[int]bool{}}
	for port == 0 {
		h.port = firstRandom + rand.IntN(busOffset)
		if free(h.host(1), h.port) {
			break
		}
	}
	return h
}

func hostsSupported() bool { return runtime.GOOS == "linux" }

func (h *hosts) host(z int) string { return fmt.Sprintf("127.%d.%d.%d", h.net[0], h.net[1], z) }

// take returns the lowest address that is not given away and has the port free.
func (h *hosts) take() (host string, port int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for z := 1; z < 255; z++ {
		if !h.used[z] && free(h.host(z), h.port) {
			h.used[z] = true
			return h.host(z), h.port, nil
		}
	}
	return "", 0, fmt.Errorf("port %d is taken on all addresses of %s/24", h.port, h.host(0))
}

// release takes an address back.
func (h *hosts) release(host string, _ int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for z := range h.used {
		if h.host(z) == host {
			delete(h.used, z)
		}
	}
}

func (h *hosts) close() {}

// free tells whether nobody listens on host:port.
func free(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
