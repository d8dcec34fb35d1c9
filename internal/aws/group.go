package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// available is the status of what nothing is going on with.
const available = "available"

// Group is a replication group as ElastiCache describes it. Addresses are
// host:port. What does not exist in a cluster mode is empty.
type Group struct {
	ID                string   `json:"id"`
	ARN               string   `json:"arn"`
	Description       string   `json:"description"`
	Status            string   `json:"status"` // available, modifying, creating, deleting, snapshotting, create-failed
	Engine            string   `json:"engine"`
	EngineVersion     string   `json:"engine_version"`
	NodeType          string   `json:"node_type"`
	ClusterEnabled    bool     `json:"cluster_enabled"`
	ClusterMode       string   `json:"cluster_mode"`       // enabled, disabled, compatible
	AutomaticFailover string   `json:"automatic_failover"` // enabled, disabled, enabling, disabling
	MultiAZ           string   `json:"multi_az"`           // enabled, disabled
	TransitEncryption bool     `json:"transit_encryption"`
	AuthToken         bool     `json:"auth_token"`
	Configuration     string   `json:"configuration"`      // endpoint; only with cluster mode enabled
	Resharding        *float64 `json:"resharding"`         // percent of the slots moved; nil = none are on the move
	Pending           []string `json:"pending"`            // names of the values that are about to change
	GlobalDatastore   string   `json:"global_datastore"`   // of which it is a member; "" = of none
	SnapshotWindow    string   `json:"snapshot_window"`    // "05:00-06:00" UTC; "" = no snapshots
	MaintenanceWindow string   `json:"maintenance_window"` // "sun:23:00-mon:01:30" UTC
	Durability        string   `json:"durability"`         // async, sync, disabled …; "" where AWS does not say
	Shards            []Shard  `json:"shards"`
}

// Shard is a node group.
type Shard struct {
	ID      string   `json:"id"` // 0001
	Status  string   `json:"status"`
	Slots   string   `json:"slots"`   // "0-5460,10923-16383"; only with cluster mode enabled
	Primary string   `json:"primary"` // endpoint; only with cluster mode disabled
	Reader  string   `json:"reader"`  // endpoint; only with cluster mode disabled
	Members []Member `json:"members"`
}

// Member is a node.
type Member struct {
	ID      string    `json:"id"`     // lb-0001-002
	Shard   string    `json:"shard"`  // 0001
	Status  string    `json:"status"` // available, creating, deleting, modifying, "rebooting cluster nodes", snapshotting …; missing if no node of this name is described
	Role    string    `json:"role"`   // primary, replica; only with cluster mode disabled
	Zone    string    `json:"zone"`
	Addr    string    `json:"addr"` // "" until there is one
	Created time.Time `json:"created"`
	Listed  bool      `json:"listed"` // among its node group's members; one that is coming or going is not
}

// missing is the status of a member of which AWS says nothing.
const missing = "missing"

// Members lists the members of all shards.
func (g Group) Members() []Member {
	var all []Member
	for _, s := range g.Shards {
		all = append(all, s.Members...)
	}
	return all
}

// Shard returns a shard by its id.
func (g Group) Shard(id string) (Shard, bool) {
	i := slices.IndexFunc(g.Shards, func(s Shard) bool { return s.ID == id })
	if i < 0 {
		return Shard{}, false
	}
	return g.Shards[i], true
}

// Available returns nil if the group, its shards and all members are available,
// and else an error that lists what is not. The group's status alone says little:
// it turns available while members are still being created or deleted
// (hashicorp/terraform-provider-aws, issue 50096).
func (g Group) Available() error {
	var not []string
	add := func(what, status string) {
		if status != available {
			not = append(not, fmt.Sprintf("%s is %s", what, status))
		}
	}
	add(g.ID, g.Status)
	for _, s := range g.Shards {
		add("node group "+s.ID, s.Status)
		for _, m := range s.Members {
			add(m.ID, m.Status)
		}
	}
	if g.Resharding != nil {
		not = append(not, fmt.Sprintf("slots are on the move (%.0f%%)", *g.Resharding))
	}
	if len(g.Members()) == 0 {
		not = append(not, g.ID+" has no members")
	}
	if len(not) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(not, ", "))
}

// Owns reports whether e is about the group or one of its members, those among
// them that have just come or gone: lb-0001-003 is lb's with cluster mode
// enabled, lb-003 with it disabled.
func (g Group) Owns(e Event) bool {
	switch e.SourceType {
	case sourceGroup:
		return e.Subject == g.ID
	case sourceNode:
		isSubject := func(m Member) bool { return m.ID == e.Subject }
		return slices.ContainsFunc(g.Members(), isSubject) || g.shardOf(e.Subject) != ""
	}
	return false
}

var (
	clusteredName = regexp.MustCompile(`^-(\d{1,4})-\d{3,}$`)
	plainName     = regexp.MustCompile(`^-\d{3,}$`)
)

// onlyShard is the id of the one shard with cluster mode disabled.
const onlyShard = "0001"

// shardOf tells by its name to which shard a node would belong; "" = it is none
// of the group's.
func (g Group) shardOf(node string) string {
	rest, ok := strings.CutPrefix(node, g.ID)
	switch {
	case !ok:
		return ""
	case g.ClusterEnabled:
		if found := clusteredName.FindStringSubmatch(rest); found != nil {
			return found[1]
		}
	case plainName.MatchString(rest):
		return onlyShard
	}
	return ""
}
