package control

import (
	"fmt"
	"net/netip"
	"strings"
)

func (p *Plane) groupARN(id string) string {
	return fmt.Sprintf("arn:aws:elasticache:%s:%s:replicationgroup:%s", p.opts.Region, account, id)
}

func (p *Plane) clusterARN(id string) string {
	return fmt.Sprintf("arn:aws:elasticache:%s:%s:cluster:%s", p.opts.Region, account, id)
}

// The names of a group with cluster mode disabled are made as ElastiCache makes
// them (lb.xxxxxx.ng.0001.use1.cache.amazonaws.com), in a domain that is
// reserved for tests.

func (p *Plane) primaryName(group string) string { return p.name(group, "ng.0001") }
func (p *Plane) readerName(group string) string  { return p.name(group+"-ro", "ng.0001") }
func (p *Plane) nodeName(id string) string       { return p.name(id, "0001") }

func (p *Plane) name(first, rest string) string {
	return fmt.Sprintf("%s.local.%s.%s.%s", first, rest, p.opts.Region, strings.TrimSuffix(p.opts.Zone, "."))
}

// certificateNames are the names that a node's certificate is valid for.
func (p *Plane) certificateNames(group string) func(id string) []string {
	return func(id string) []string {
		return []string{p.nodeName(id), p.primaryName(group), p.readerName(group)}
	}
}

// point lets the names of g say what is true now: the primary's name leads to
// the primary, the reader's to the replicas that run, and to the primary where
// there is none. The caller holds mu.
func (p *Plane) point(g *group) {
	if g.clusterEnabled || p.opts.Names == nil {
		return
	}
	s, ttl := g.shards[0], g.timings.TTL
	var readers []netip.Addr
	for _, m := range s.members {
		if !m.joined {
			continue
		}
		addr := netip.MustParseAddr(m.host)
		p.opts.Names.Set(p.nodeName(m.id), ttl, addr)
		if m.id == s.primary {
			p.opts.Names.Set(p.primaryName(g.id), ttl, addr)
		} else if !m.down && m.status != Deleting {
			readers = append(readers, addr)
		}
	}
	if primary := s.member(s.primary); len(readers) == 0 && primary != nil {
		readers = append(readers, netip.MustParseAddr(primary.host))
	}
	p.opts.Names.Set(p.readerName(g.id), ttl, readers...)
}

// unpoint removes the names of g. The caller holds mu.
func (p *Plane) unpoint(g *group) {
	if g.clusterEnabled || p.opts.Names == nil || len(g.shards) == 0 {
		return
	}
	p.opts.Names.Delete(p.primaryName(g.id))
	p.opts.Names.Delete(p.readerName(g.id))
	for _, m := range g.shards[0].members {
		p.unpointNode(g, m)
	}
}

// unpointNode removes the name of a node. The caller holds mu.
func (p *Plane) unpointNode(g *group, m *member) {
	if !g.clusterEnabled && p.opts.Names != nil {
		p.opts.Names.Delete(p.nodeName(m.id))
	}
}
