package dns

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// names is what the zone holds. Safe for concurrent use.
type names struct {
	mu     sync.Mutex
	byName map[string]*record // by canonical name
	serial uint32             // of the zone: grows with each change
}

// record is one name's addresses, and how often each kind was answered: Go's
// resolver asks for both at once, so that one count for both would turn the
// order by two each time, which for two addresses is not at all.
type record struct {
	ttl    uint32 // seconds
	v4, v6 []netip.Addr
	turnV4 int
	turnV6 int
}

func newRecord(ttl time.Duration, addrs []netip.Addr) *record {
	r := &record{ttl: seconds(ttl)}
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			r.v4 = append(r.v4, a)
		} else {
			r.v6 = append(r.v6, a)
		}
	}
	return r
}

// maxTTL is the largest there is: the first bit is not used (RFC 2181, section 8).
const maxTTL = 1<<31 - 1

func seconds(ttl time.Duration) uint32 {
	s := max(0, (ttl+time.Second-1)/time.Second)
	return uint32(min(s, maxTTL))
}

// canonical is the form in which names are compared: they are the same in any
// case, and all of them are complete.
func canonical(name string) string { return dns.CanonicalName(name) }

func (n *names) init() { n.byName, n.serial = map[string]*record{}, 1 }

// set keeps the turns: a name that is set again and again still goes round.
func (n *names) set(name string, r *record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.byName[name]; old != nil {
		r.turnV4, r.turnV6 = old.turnV4, old.turnV6
	}
	n.byName[name] = r
	n.serial++
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byName, name)
	n.serial++
}

// found is what there is to say of a name.
type found struct {
	exists bool
	serial uint32
	ttl    uint32
	v4, v6 []netip.Addr // those asked for, in their order this time
}

// find looks a name up and turns the order of what is asked for by one.
func (n *names) find(name string, v4, v6 bool) found {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.byName[name]
	if r == nil {
		return found{exists: n.inside(name), serial: n.serial}
	}
	f := found{exists: true, serial: n.serial, ttl: r.ttl}
	if v4 {
		f.v4 = turned(r.v4, &r.turnV4)
	}
	if v6 {
		f.v6 = turned(r.v6, &r.turnV6)
	}
	return f
}

// inside says whether a name without a record exists all the same: as the zone,
// or as a part of longer names (RFC 8020).
func (n *names) inside(name string) bool {
	if name == Zone {
		return true
	}
	for longer := range n.byName {
		if strings.HasSuffix(longer, "."+name) {
			return true
		}
	}
	return false
}

// turned returns addrs beginning with the next one.
func turned(addrs []netip.Addr, turn *int) []netip.Addr {
	if len(addrs) == 0 {
		return nil
	}
	first := *turn % len(addrs)
	*turn = first + 1
	return slices.Concat(addrs[first:], addrs[:first])
}
