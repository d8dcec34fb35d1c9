package dns

import (
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// The SOA record of the zone. Its minimum is how long a resolver may remember
// that a name does not exist (RFC 2308): a name may appear at any time.
const (
	soaMinimum = 1
	soaRefresh = 60
	soaRetry   = 10
	soaExpire  = 60
)

// handle answers one query. The library has refused what is not a query, or has
// not exactly one question.
func (s *Server) handle(w dns.ResponseWriter, query *dns.Msg) {
	reply := s.answer(query)
	room := dns.MaxMsgSize
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		room = udpRoom(query)
	}
	reply.Truncate(room)
	// The error is that the asker has gone; there is nobody to tell.
	_ = w.WriteMsg(reply)
}

// udpRoom is how large an answer the asker takes in one packet (RFC 6891).
func udpRoom(query *dns.Msg) int {
	if opt := query.IsEdns0(); opt != nil {
		return max(dns.MinMsgSize, int(opt.UDPSize()))
	}
	return dns.MinMsgSize
}

func (s *Server) answer(query *dns.Msg) *dns.Msg {
	reply := new(dns.Msg).SetReply(query)
	if query.IsEdns0() != nil {
		reply.SetEdns0(dns.DefaultMsgSize, false)
	}
	if len(query.Question) != 1 || query.Opcode != dns.OpcodeQuery {
		reply.Rcode = dns.RcodeNotImplemented
		return reply
	}
	if reply.Rcode = refusal(query.Question[0]); reply.Rcode == dns.RcodeSuccess {
		s.look(reply, query.Question[0])
	}
	return reply
}

// refusal says which questions are not looked at: those about other zones, which
// a server that recursed would forward, and transfers of the zone.
func refusal(q dns.Question) int {
	switch {
	case q.Qclass != dns.ClassINET && q.Qclass != dns.ClassANY:
		return dns.RcodeRefused
	case !dns.IsSubDomain(Zone, canonical(q.Name)):
		return dns.RcodeRefused
	}
	switch q.Qtype {
	case dns.TypeAXFR, dns.TypeIXFR, dns.TypeMAILA, dns.TypeMAILB:
		return dns.RcodeNotImplemented
	}
	return dns.RcodeSuccess
}

// look fills the reply in. Where there is no record of the type asked for, the
// SOA record says for how long that holds.
func (s *Server) look(reply *dns.Msg, q dns.Question) {
	name := canonical(q.Name)
	wants := func(t uint16) bool { return q.Qtype == t || q.Qtype == dns.TypeANY }
	f := s.names.find(name, wants(dns.TypeA), wants(dns.TypeAAAA))
	reply.Authoritative = true
	for _, a := range f.v4 {
		reply.Answer = append(reply.Answer, &dns.A{Hdr: header(q.Name, dns.TypeA, f.ttl), A: ip(a)})
	}
	for _, a := range f.v6 {
		reply.Answer = append(reply.Answer, &dns.AAAA{Hdr: header(q.Name, dns.TypeAAAA, f.ttl), AAAA: ip(a)})
	}
	if name == Zone && wants(dns.TypeSOA) {
		reply.Answer = append(reply.Answer, soa(q.Name, f.serial))
	}
	if !f.exists {
		reply.Rcode = dns.RcodeNameError
	}
	if len(reply.Answer) == 0 {
		reply.Ns = []dns.RR{soa(Zone, f.serial)}
	}
}

// header repeats the name as it was asked: some resolvers compare every letter.
func header(name string, kind uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

func ip(a netip.Addr) net.IP { return net.IP(a.WithZone("").AsSlice()) }

func soa(name string, serial uint32) dns.RR {
	return &dns.SOA{
		Hdr: header(name, dns.TypeSOA, soaMinimum),
		Ns:  "ns." + Zone, Mbox: "hostmaster." + Zone, Serial: serial,
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: soaMinimum,
	}
}
