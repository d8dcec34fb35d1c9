package cluster

import (
	"errors"
	"net"
	"os"
	"strconv"
	"testing"
)

// The race for a port between the look whether it is free and the node's bind
// cannot be won on purpose; here it is lost on purpose.
func TestANodeThatFindsItsPortTakenGetsAnother(t *testing.T) {
	server, err := FindServer(t.Context(), "")
	if errors.Is(err, ErrNoServer) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		offset int
	}{{"client port", 0}, {"bus port", busOffset}} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := build(Options{}.withDefaults(), server)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Stop() })
			n := c.nodes[0]
			if n.host, n.port, err = c.places.take(); err != nil {
				t.Fatal(err)
			}
			taken := n.port
			l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(taken+tc.offset)))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := c.runHere(n); err != nil {
				t.Fatal(err)
			}
			if err := c.settleOn(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if n.port == taken {
				t.Error("it answers on a port that is taken")
			}
		})
	}
}

func TestSharesCoverEverySlotOnceAndEvenly(t *testing.T) {
	for shards := 1; shards <= 90; shards++ {
		next := 0
		for shard := range shards {
			r := share(shard, shards)
			if r.First != next {
				t.Fatalf("%d shards: shard %d begins at %d, want %d", shards, shard, r.First, next)
			}
			if size := count([]Range{r}); size < slots/shards || size > slots/shards+1 {
				t.Errorf("%d shards: shard %d has %d slots", shards, shard, size)
			}
			next = r.Last + 1
		}
		if next != slots {
			t.Errorf("%d shards end at %d", shards, next)
		}
	}
}

func TestPortsAreFreeAndHandedOutOnce(t *testing.T) {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().(*net.TCPAddr).Port
	if busy > lastPort {
		busy -= busOffset // then it is a bus port that is taken
	}
	p, seen := newPorts(busy), map[int]bool{}
	defer p.close()
	for range 20 {
		_, port, err := p.take()
		if err != nil {
			t.Fatal(err)
		}
		if port == busy || seen[port] {
			t.Errorf("port %d was handed out", port)
		}
		seen[port] = true
	}
}

// TestAPortIsClaimedAlsoWhileItsNodeIsDown: a cluster that took it would become one
// with the node's own.
func TestAPortIsClaimedAlsoWhileItsNodeIsDown(t *testing.T) {
	if !hostsSupported() {
		t.Skip("this system has no address to claim ports on")
	}
	one := newPorts(0)
	defer one.close()
	_, port, err := one.take()
	if err != nil {
		t.Fatal(err)
	}
	two := newPorts(port) // nobody listens there
	defer two.close()
	if _, next, err := two.take(); err != nil || next == port {
		t.Errorf("port %d was handed out again (%v)", next, err)
	}
	bus := newPorts(port + busOffset)
	defer bus.close()
	if _, next, err := bus.take(); err != nil || next == port+busOffset {
		t.Errorf("the bus port %d was handed out again (%v)", next, err)
	}
	one.release(loopback, port)
	if _, again, err := newClaimed(t, port).take(); err != nil || again != port {
		t.Errorf("after its release: port %d, not %d (%v)", again, port, err)
	}
}

func newClaimed(t *testing.T, first int) *ports {
	p := newPorts(first)
	t.Cleanup(p.close)
	return p
}
