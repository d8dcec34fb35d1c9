package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/local/control"
)

// elastiCache is ElastiCache in AWS Query. Source: the service model of API
// version 2015-02-02.
func (h *handler) elastiCache() *service {
	return &service{
		version:   "2015-02-02",
		namespace: "http://elasticache.amazonaws.com/doc/2015-02-02/",
		// as real calls without a parameter are answered
		dialect: dialect{codeParameterValue, "The parameter %s must be provided and must not be null.", codeParameterValue},
		actions: map[string]action{
			"DescribeReplicationGroups": {do: h.describeReplicationGroups},
			"DescribeCacheClusters":     {do: h.describeCacheClusters},
			"DescribeEvents":            {do: h.describeEvents},
			"ListTagsForResource":       {do: h.listTags},

			"CreateReplicationGroup":                   {changes: true, do: h.createReplicationGroup},
			"DeleteReplicationGroup":                   {changes: true, do: h.deleteReplicationGroup},
			"TestFailover":                             {changes: true, do: h.testFailover},
			"IncreaseReplicaCount":                     {changes: true, do: h.increaseReplicaCount},
			"DecreaseReplicaCount":                     {changes: true, do: h.decreaseReplicaCount},
			"ModifyReplicationGroupShardConfiguration": {changes: true, do: h.modifyShards},
			"RebootCacheCluster":                       {changes: true, do: h.rebootCacheCluster},
			"AddTagsToResource":                        {changes: true, do: h.addTags},
			"RemoveTagsFromResource":                   {changes: true, do: h.removeTags},
		},
	}
}

// id is an identifier as AWS keeps it, in lower case.
func (a args) id(name string) string { return strings.ToLower(a.text(name)) }

func (a args) requiredID(name string) string { return strings.ToLower(a.required(name)) }

// page is MaxRecords and Marker. A marker is not opaque here, so that what comes
// or goes between two pages shifts neither: it is what the last page ended with.
type page struct {
	size   int
	marker string
}

func (a args) page() page {
	return page{size: a.between("MaxRecords", 20, 100, 100), marker: a.text("Marker")}
}

// idPage is a page of things sorted by id, whose marker is an id.
func (a args) idPage() page {
	p := a.page()
	if strings.Trim(p.marker, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		a.invalid("Marker", raw(p.marker), "one of an answer before")
	}
	return p
}

// cut returns the items of a page and the marker of the next one, "" if it is
// the last. The items are sorted by id.
func cut[T any](p page, all []T, id func(T) string) ([]T, string) {
	for len(all) > 0 && p.marker != "" && id(all[0]) <= p.marker {
		all = all[1:]
	}
	if len(all) <= p.size {
		return all, ""
	}
	return all[:p.size], id(all[p.size-1])
}

// recorded is the call for CloudTrail, err being how it ended.
func (c *call) recorded(err error) control.Call {
	return control.Call{
		ID:         newID(),
		Time:       c.at,
		Name:       c.action,
		Resource:   c.resource(),
		Parameters: c.parameters(),
		UserAgent:  shown(c.userAgent),
		ErrorCode:  errorCode(err),
		RequestID:  c.requestID,
	}
}

// resource is the id the call names: that of a group, a node, or the last part of
// the ARN whose tags it changes.
func (c *call) resource() string {
	for _, name := range []string{"ReplicationGroupId", "CacheClusterId", "ResourceName"} {
		if id := c.given[name]; id != "" {
			return strings.ToLower(id[strings.LastIndexByte(id, ':')+1:])
		}
	}
	return ""
}

// recordMost is how many bytes of a call's parameters are kept, and shortMost how
// many of one of them (CloudTrail, too, cuts what is large).
const (
	recordMost = 8 << 10
	shortMost  = 1 << 10
)

// parameters are those that came, as far as there is room, without the secret and
// what names the action.
func (c *call) parameters() map[string]string {
	kept, size := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if name == "Action" || name == "Version" || strings.EqualFold(name, "AuthToken") {
			continue
		}
		value := c.given[name]
		if len(value) > shortMost {
			value = strings.ToValidUTF8(value[:shortMost], "") + "..."
		}
		if size += len(name) + len(value); size > recordMost {
			break
		}
		kept[name] = value
	}
	return kept
}
