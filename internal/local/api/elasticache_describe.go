package api

import (
	"context"

	"github.com/rankbench/rankbench/internal/local/control"
)

func (h *handler) describeReplicationGroups(_ context.Context, c *call) (any, error) {
	id, page := c.args.id("ReplicationGroupId"), c.args.idPage()
	if err := c.args.err(); err != nil {
		return nil, err
	}
	groups, err := h.plane.ReplicationGroups(id)
	if err != nil {
		return nil, err
	}
	groups, marker := cut(page, groups, func(g control.ReplicationGroup) string { return g.ID })
	result := xmlGroups{Marker: marker}
	for _, g := range groups {
		result.Groups = append(result.Groups, groupXML(g))
	}
	return result, nil
}

func (h *handler) describeCacheClusters(_ context.Context, c *call) (any, error) {
	id, page := c.args.id("CacheClusterId"), c.args.idPage()
	nodes, ungrouped := c.args.isSet("ShowCacheNodeInfo"), c.args.isSet("ShowCacheClustersNotInReplicationGroups")
	if err := c.args.err(); err != nil {
		return nil, err
	}
	clusters, err := h.plane.CacheClusters(id)
	if err != nil {
		return nil, err
	}
	if ungrouped { // here all are in groups
		clusters = nil
	}
	clusters, marker := cut(page, clusters, func(c control.CacheCluster) string { return c.ID })
	result := xmlClusters{Marker: marker}
	for _, cluster := range clusters {
		result.Clusters = append(result.Clusters, clusterXML(cluster, nodes))
	}
	return result, nil
}
