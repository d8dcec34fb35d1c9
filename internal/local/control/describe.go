package control

// describe is the group as DescribeReplicationGroups shows it. The caller holds mu.
func (p *Plane) describe(g *group) ReplicationGroup {
	r := ReplicationGroup{
		ID: g.id, Description: g.in.Description, Status: g.status, ARN: p.groupARN(g.id), Created: g.created,
		ClusterEnabled: g.clusterEnabled, AutomaticFailover: g.autoFailover(), MultiAZ: g.multiAZ(),
		NodeType: g.in.NodeType, Engine: g.in.Engine,
		TransitEncryption: g.in.TransitEncryption, AuthToken: g.in.AuthToken != "",
		Busy: g.busy,
	}
	if g.moved != nil {
		percent := *g.moved
		r.Resharding = &percent
	}
	if g.clusterEnabled {
		r.ConfigurationEndpoint = g.configurationEndpoint()
	}
	for _, s := range g.shards {
		for _, m := range s.members {
			r.MemberClusters = append(r.MemberClusters, m.id)
		}
		r.NodeGroups = append(r.NodeGroups, p.describeShard(g, s))
	}
	return r
}

// configurationEndpoint is the address of a node that runs. On AWS it is a name
// that stands for all of them.
func (g *group) configurationEndpoint() *Endpoint {
	for _, s := range g.shards {
		for _, m := range s.members {
			if m.joined && !m.down && m.status != Deleting {
				e := m.endpoint()
				return &e
			}
		}
	}
	return nil
}

func (p *Plane) describeShard(g *group, s *shard) NodeGroup {
	n := NodeGroup{ID: s.id, Status: s.status, Slots: s.slots}
	if port := s.port(); !g.clusterEnabled && port > 0 {
		n.PrimaryEndpoint = &Endpoint{Address: p.primaryName(g.id), Port: port}
		n.ReaderEndpoint = &Endpoint{Address: p.readerName(g.id), Port: port}
	}
	for _, m := range s.members {
		if m.joined {
			n.Members = append(n.Members, p.describeMember(g, s, m))
		}
	}
	return n
}

// port is the same for all nodes of a shard with cluster mode disabled. It is 0
// before there are any.
func (s *shard) port() int {
	for _, m := range s.members {
		if m.joined {
			return m.port
		}
	}
	return 0
}

func (p *Plane) describeMember(g *group, s *shard, m *member) NodeGroupMember {
	d := NodeGroupMember{CacheClusterID: m.id, Zone: m.zone}
	if g.clusterEnabled {
		return d
	}
	d.Role = "replica"
	if m.id == s.primary {
		d.Role = "primary"
	}
	d.ReadEndpoint = &Endpoint{Address: p.nodeName(m.id), Port: m.port}
	return d
}

// CacheClusters describes the node of an id or, if it is "", all, by id.
func (p *Plane) CacheClusters(id string) ([]CacheCluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []CacheCluster
	for _, g := range p.sorted() {
		for _, s := range g.shards {
			for _, m := range s.members {
				if id == "" || id == m.id {
					all = append(all, p.describeCluster(g, m))
				}
			}
		}
	}
	if id != "" && len(all) == 0 {
		return nil, refuse(CodeClusterNotFound, "CacheCluster not found: %s", id)
	}
	return all, nil
}

func (p *Plane) describeCluster(g *group, m *member) CacheCluster {
	c := CacheCluster{
		ID: m.id, GroupID: g.id, Status: m.status, Created: m.created, NodeType: g.in.NodeType,
		Engine: g.in.Engine, Zone: m.zone, ARN: p.clusterARN(m.id),
		TransitEncryption: g.in.TransitEncryption, AuthToken: g.in.AuthToken != "",
	}
	if g.status == Deleting {
		c.Status = Deleting
	}
	if g.cluster != nil {
		c.EngineVersion = g.cluster.Server().Version
	}
	if m.joined {
		c.Endpoint = m.endpoint()
		if !g.clusterEnabled {
			c.Endpoint.Address = p.nodeName(m.id)
		}
	}
	return c
}
