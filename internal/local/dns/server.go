// Package dns is a small authoritative name server on loopback for the endpoint
// names of the local ElastiCache: what Route 53 is to the real one. It knows
// names and addresses; it does not know what they are for, it forwards nothing,
// and it answers for its Zone alone.
//
//  1. Start takes one port of a loopback address for UDP and TCP (listen.go).
//  2. Set and Delete change the names, and the next answer has it (names.go).
//  3. A question is answered from the names as they are at that moment, several
//     addresses in an order that turns with each answer (answer.go).
package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Zone holds all names that there are. The top-level domain test is reserved for
// uses such as this one (RFC 6761, section 6.2): nobody else has such names.
const Zone = "cache.rankbench.test."

// readWithin bounds the reading of one query on a TCP connection.
const readWithin = 5 * time.Second

// Server answers until Close. Its methods may be called concurrently.
type Server struct {
	names names
	addr  string
	udp   *dns.Server
	tcp   *dns.Server
	serve sync.WaitGroup

	once     sync.Once
	closeErr error
}

// Start listens on addr, an IP address of loopback and a port, with UDP and TCP;
// port 0 is any port that is free for both. ctx bounds only the start.
func Start(ctx context.Context, addr string) (*Server, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("start DNS server: %w", err)
	}
	if !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("start DNS server on %s: it is not a loopback address", addr)
	}
	packets, streams, err := listen(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("start DNS server: %w", err)
	}
	s := &Server{addr: packets.LocalAddr().String()}
	s.names.init()
	if err := s.run(packets, streams); err != nil {
		return nil, errors.Join(fmt.Errorf("start DNS server: %w", err), packets.Close(), streams.Close())
	}
	return s, nil
}

// run returns when both sides serve: before that they could not be shut down.
func (s *Server) run(packets net.PacketConn, streams net.Listener) error {
	handler, started := dns.HandlerFunc(s.handle), make(chan error, 4)
	notify := func() { started <- nil }
	s.udp = &dns.Server{PacketConn: packets, Handler: handler, NotifyStartedFunc: notify}
	s.tcp = &dns.Server{Listener: streams, Handler: handler, NotifyStartedFunc: notify, ReadTimeout: readWithin}
	for _, side := range []*dns.Server{s.udp, s.tcp} {
		// Once it serves, what it returns is that its socket is closed: Shutdown
		// tells what went wrong there.
		s.serve.Go(func() { started <- side.ActivateAndServe() })
	}
	return errors.Join(<-started, <-started)
}

// Addr is host:port, the same for UDP and TCP.
func (s *Server) Addr() string { return s.addr }

// Close ends the server and waits for what it has started. Further calls return
// what the first one did.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.closeErr = errors.Join(s.udp.Shutdown(), s.tcp.Shutdown())
		s.serve.Wait()
	})
	return s.closeErr
}

// Set replaces the addresses of a name of the Zone, with or without its final
// dot, in any case. Without addresses the name exists and leads nowhere, as
// ElastiCache's reader endpoint without replicas. Answers that are on their way
// may still have the old ones. A name outside of the Zone is never answered. A ttl
// is rounded up to seconds, in which DNS counts; 0 says that nobody is to keep the
// answer.
func (s *Server) Set(name string, ttl time.Duration, addrs ...netip.Addr) {
	s.names.set(canonical(name), newRecord(ttl, addrs))
}

// Delete removes a name; the answer is then that it does not exist.
func (s *Server) Delete(name string) { s.names.remove(canonical(name)) }
