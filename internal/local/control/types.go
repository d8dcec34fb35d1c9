package control

import (
	"fmt"
	"time"
)

// The types of this file are ElastiCache's own, by their names of API version
// 2015-02-02. What a call returns is a copy, as the group was at that moment.

// Error is a refusal as AWS gives it: Code is the code on the wire (which is not
// always the name of the SDKs' type), Status the HTTP status.
type Error struct {
	Code    string
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// The codes of the refusals. Source: the service model of ElastiCache.
const (
	CodeGroupNotFound     = "ReplicationGroupNotFoundFault"              // 404
	CodeGroupExists       = "ReplicationGroupAlreadyExists"              // 400
	CodeNodeGroupNotFound = "NodeGroupNotFoundFault"                     // 404
	CodeClusterNotFound   = "CacheClusterNotFound"                       // 404
	CodeGroupState        = "InvalidReplicationGroupState"               // 400
	CodeClusterState      = "InvalidCacheClusterState"                   // 400
	CodeTooManyFailovers  = "APICallRateForCustomerExceeded"             // 400
	CodeParameterValue    = "InvalidParameterValue"                      // 400
	CodeParameterMix      = "InvalidParameterCombination"                // 400
	CodeNoOperation       = "NoOperationFault"                           // 400
	CodeNodeGroupsQuota   = "NodeGroupsPerReplicationGroupQuotaExceeded" // 400
	CodeInternal          = "InternalFailure"                            // 500
)

func refuse(code string, format string, args ...any) *Error {
	status := 400
	switch code {
	case CodeGroupNotFound, CodeNodeGroupNotFound, CodeClusterNotFound:
		status = 404
	case CodeInternal:
		status = 500
	}
	return &Error{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

// The states of groups, node groups, cache clusters and cache nodes.
const (
	Available = "available"
	Creating  = "creating"
	Modifying = "modifying"
	Deleting  = "deleting"
	Rebooting = "rebooting cluster nodes"
	Failed    = "create-failed"
)

// Endpoint is host name or address, and port.
type Endpoint struct {
	Address string
	Port    int
}

// ReplicationGroup is one group. What AWS leaves out in one of the two cluster
// modes is nil or empty here: with cluster mode enabled there are no roles and
// only ConfigurationEndpoint, with it disabled there is no ConfigurationEndpoint.
type ReplicationGroup struct {
	ID                    string
	Description           string
	Status                string
	ARN                   string
	Created               time.Time
	ClusterEnabled        bool
	ConfigurationEndpoint *Endpoint
	MemberClusters        []string // cache cluster ids; one that is being created is here before it is in a node group
	NodeGroups            []NodeGroup
	AutomaticFailover     bool
	MultiAZ               bool
	NodeType              string
	Engine                string // redis or valkey
	TransitEncryption     bool
	AuthToken             bool
	Resharding            *float64 // percent of the slots moved, while shards are added or removed
	Busy                  string   // the operation that goes on, "" for none; AWS does not show it
}

// NodeGroup is a shard.
type NodeGroup struct {
	ID              string // 0001
	Status          string
	Slots           string // "0-5460,10923-16383"; "" with cluster mode disabled
	PrimaryEndpoint *Endpoint
	ReaderEndpoint  *Endpoint
	Members         []NodeGroupMember
}

// NodeGroupMember is a node in its shard.
type NodeGroupMember struct {
	CacheClusterID string
	Zone           string // availability zone
	Role           string // primary, replica; "" with cluster mode enabled
	ReadEndpoint   *Endpoint
}

// CacheCluster is a node; ElastiCache calls a node of a replication group a
// cache cluster, in which there is one cache node, 0001.
type CacheCluster struct {
	ID                string // lb-0001-001
	GroupID           string
	Status            string
	Created           time.Time
	NodeType          string
	Engine            string
	EngineVersion     string
	Zone              string
	Endpoint          Endpoint
	ARN               string
	TransitEncryption bool
	AuthToken         bool
}

// Event is what the console shows.
type Event struct {
	Seq      uint64 // grows with each event; no two have the same
	Date     time.Time
	SourceID string
	Source   string // SourceGroup or SourceCluster
	Message  string
}

// The sources of events.
const (
	SourceGroup   = "replication-group"
	SourceCluster = "cache-cluster"
)

// EventFilter says which events are wanted; what is zero filters nothing.
type EventFilter struct {
	Source, SourceID string
	From, To         time.Time // both included
	Before           uint64    // only events with a smaller Seq, for paging
}

// CreateInput are the parameters of CreateReplicationGroup. A nil pointer is a
// parameter that was not given.
type CreateInput struct {
	ID, Description   string
	Engine            string
	NodeType          string
	ClusterMode       string // enabled, disabled, compatible; "" follows from ParameterGroup and NumNodeGroups
	ParameterGroup    string // CacheParameterGroupName
	NumNodeGroups     *int
	ReplicasPerGroup  *int // ReplicasPerNodeGroup
	NumCacheClusters  *int // with cluster mode disabled: primary and replicas
	AutomaticFailover *bool
	MultiAZ           *bool
	Port              *int
	TransitEncryption bool
	AuthToken         string // never shown, not written to any file but as its hash
	Tags              map[string]string
}

// ReplicaChange are the parameters of IncreaseReplicaCount and
// DecreaseReplicaCount.
type ReplicaChange struct {
	GroupID          string
	NewReplicaCount  *int
	Shards           []ShardReplicas // ReplicaConfiguration
	Remove           []string        // ReplicasToRemove, only to decrease
	ApplyImmediately bool
}

// ShardReplicas is one ConfigureShard.
type ShardReplicas struct {
	NodeGroupID     string
	NewReplicaCount int
	Zones           []string // PreferredAvailabilityZones: of the primary and all replicas
}

// ShardChange are the parameters of ModifyReplicationGroupShardConfiguration.
type ShardChange struct {
	GroupID          string
	NodeGroupCount   int
	Remove, Retain   []string // NodeGroupsToRemove, NodeGroupsToRetain
	ApplyImmediately bool
}

// Call is one call of the API that changes something, for CloudTrail.
type Call struct {
	ID         string // a UUID
	Time       time.Time
	Name       string            // TestFailover
	Resource   string            // the group or cache cluster it names; may be empty
	Parameters map[string]string // request parameters as they came, without AuthToken
	UserAgent  string
	ErrorCode  string // "" if it was accepted
	RequestID  string
}

// NodeInfo is what the metrics need to know of a running node.
type NodeInfo struct {
	CacheClusterID, GroupID, NodeGroupID string
	Addr                                 string // host:port of its process
	PID                                  int    // 0 while it is down
}
