package api

import (
	"github.com/rankbench/rankbench/internal/local/control"
)

// The structures of ElastiCache's answers, by the names and in the order of its
// service model. What control.ReplicationGroup leaves nil or empty is left out.

type xmlGroups struct {
	Groups []xmlGroup `xml:"ReplicationGroups>ReplicationGroup"`
	Marker string     `xml:",omitempty"`
}

type xmlGroupResult struct {
	Group xmlGroup `xml:"ReplicationGroup"`
}

type xmlEndpoint struct {
	Address string
	Port    int
}

type xmlGroup struct {
	ID                    string `xml:"ReplicationGroupId"`
	Description           string
	Status                string
	Pending               xmlPending     `xml:"PendingModifiedValues"`
	MemberClusters        []string       `xml:"MemberClusters>ClusterId"`
	NodeGroups            []xmlNodeGroup `xml:"NodeGroups>NodeGroup"`
	AutomaticFailover     string
	MultiAZ               string
	ConfigurationEndpoint *xmlEndpoint `xml:",omitempty"`
	SnapshotRetention     int          `xml:"SnapshotRetentionLimit"` // there are none
	ClusterEnabled        bool
	CacheNodeType         string
	AuthTokenEnabled      bool
	TransitEncryption     bool   `xml:"TransitEncryptionEnabled"`
	AtRestEncryption      bool   `xml:"AtRestEncryptionEnabled"`
	ARN                   string `xml:"ARN"`
	Created               string `xml:"ReplicationGroupCreateTime,omitempty"`
	TransitEncryptionMode string `xml:",omitempty"`
	ClusterMode           string
	Engine                string
}

type xmlPending struct {
	Progress *float64 `xml:"Resharding>SlotMigration>ProgressPercentage,omitempty"`
}

type xmlNodeGroup struct {
	ID              string `xml:"NodeGroupId"`
	Status          string
	PrimaryEndpoint *xmlEndpoint `xml:",omitempty"`
	ReaderEndpoint  *xmlEndpoint `xml:",omitempty"`
	Slots           string       `xml:",omitempty"`
	Members         []xmlMember  `xml:"NodeGroupMembers>NodeGroupMember"`
}

type xmlMember struct {
	CacheClusterID string       `xml:"CacheClusterId"`
	CacheNodeID    string       `xml:"CacheNodeId"`
	ReadEndpoint   *xmlEndpoint `xml:",omitempty"`
	Zone           string       `xml:"PreferredAvailabilityZone"`
	CurrentRole    string       `xml:",omitempty"`
}

// nodeID is the only node of a cache cluster.
const nodeID = "0001"

func groupXML(g control.ReplicationGroup) xmlGroup {
	out := xmlGroup{
		ID:                    g.ID,
		Description:           g.Description,
		Status:                g.Status,
		Pending:               xmlPending{g.Resharding},
		MemberClusters:        g.MemberClusters,
		AutomaticFailover:     enabled(g.AutomaticFailover),
		MultiAZ:               enabled(g.MultiAZ),
		ConfigurationEndpoint: endpointXML(g.ConfigurationEndpoint),
		ClusterEnabled:        g.ClusterEnabled,
		CacheNodeType:         g.NodeType,
		AuthTokenEnabled:      g.AuthToken,
		TransitEncryption:     g.TransitEncryption,
		ARN:                   g.ARN,
		Created:               stamp(g.Created),
		TransitEncryptionMode: encryptionMode(g.TransitEncryption),
		ClusterMode:           enabled(g.ClusterEnabled),
		Engine:                g.Engine,
	}
	for _, n := range g.NodeGroups {
		out.NodeGroups = append(out.NodeGroups, nodeGroupXML(n))
	}
	return out
}

func nodeGroupXML(n control.NodeGroup) xmlNodeGroup {
	out := xmlNodeGroup{
		ID:              n.ID,
		Status:          n.Status,
		PrimaryEndpoint: endpointXML(n.PrimaryEndpoint),
		ReaderEndpoint:  endpointXML(n.ReaderEndpoint),
		Slots:           n.Slots,
	}
	for _, m := range n.Members {
		out.Members = append(out.Members, xmlMember{
			CacheClusterID: m.CacheClusterID,
			CacheNodeID:    nodeID,
			ReadEndpoint:   endpointXML(m.ReadEndpoint),
			Zone:           m.Zone,
			CurrentRole:    m.Role,
		})
	}
	return out
}

func endpointXML(e *control.Endpoint) *xmlEndpoint {
	if e == nil {
		return nil
	}
	return &xmlEndpoint{e.Address, e.Port}
}

func enabled(yes bool) string {
	if yes {
		return "enabled"
	}
	return "disabled"
}

func encryptionMode(on bool) string {
	if on {
		return "required"
	}
	return ""
}

type xmlClusters struct {
	Clusters []xmlCluster `xml:"CacheClusters>CacheCluster"`
	Marker   string       `xml:",omitempty"`
}

type xmlClusterResult struct {
	Cluster xmlCluster `xml:"CacheCluster"`
}

type xmlCluster struct {
	ID                    string `xml:"CacheClusterId"`
	CacheNodeType         string
	Engine                string
	EngineVersion         string
	Status                string         `xml:"CacheClusterStatus"`
	NumCacheNodes         int            // always 1
	Zone                  string         `xml:"PreferredAvailabilityZone"`
	Created               string         `xml:"CacheClusterCreateTime,omitempty"`
	Pending               struct{}       `xml:"PendingModifiedValues"`
	Nodes                 *xmlCacheNodes `xml:"CacheNodes,omitempty"`
	GroupID               string         `xml:"ReplicationGroupId,omitempty"`
	SnapshotRetention     int            `xml:"SnapshotRetentionLimit"`
	AuthTokenEnabled      bool
	TransitEncryption     bool   `xml:"TransitEncryptionEnabled"`
	AtRestEncryption      bool   `xml:"AtRestEncryptionEnabled"`
	ARN                   string `xml:"ARN"`
	TransitEncryptionMode string `xml:",omitempty"`
}

// xmlCacheNodes is nil, not empty, where the nodes were not asked for.
type xmlCacheNodes struct {
	Nodes []xmlCacheNode `xml:"CacheNode"`
}

type xmlCacheNode struct {
	ID       string       `xml:"CacheNodeId"`
	Status   string       `xml:"CacheNodeStatus"`
	Created  string       `xml:"CacheNodeCreateTime,omitempty"`
	Endpoint *xmlEndpoint `xml:",omitempty"`
	Zone     string       `xml:"CustomerAvailabilityZone"`
}

// clusterXML is a cache cluster, with its node if that is asked for.
func clusterXML(c control.CacheCluster, node bool) xmlCluster {
	out := xmlCluster{
		ID:                    c.ID,
		CacheNodeType:         c.NodeType,
		Engine:                c.Engine,
		EngineVersion:         c.EngineVersion,
		Status:                c.Status,
		NumCacheNodes:         1,
		Zone:                  c.Zone,
		Created:               stamp(c.Created),
		GroupID:               c.GroupID,
		AuthTokenEnabled:      c.AuthToken,
		TransitEncryption:     c.TransitEncryption,
		ARN:                   c.ARN,
		TransitEncryptionMode: encryptionMode(c.TransitEncryption),
	}
	if node {
		out.Nodes = &xmlCacheNodes{[]xmlCacheNode{nodeXML(c)}}
	}
	return out
}

func nodeXML(c control.CacheCluster) xmlCacheNode {
	node := xmlCacheNode{ID: nodeID, Status: c.Status, Created: stamp(c.Created), Zone: c.Zone}
	if c.Endpoint.Address != "" {
		node.Endpoint = endpointXML(&c.Endpoint)
	}
	return node
}

type xmlEvents struct {
	Events []xmlEvent `xml:"Events>Event"`
	Marker string     `xml:",omitempty"`
}

type xmlEvent struct {
	SourceIdentifier, SourceType, Message, Date string
}

type xmlTags struct {
	Tags []xmlTag `xml:"TagList>Tag"`
}

type xmlTag struct{ Key, Value string }
