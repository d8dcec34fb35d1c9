package control

import "strings"

// Validate says what is wrong with the parameters of CreateReplicationGroup as
// such; whether there is such a group already is another matter.
func Validate(in CreateInput) error { return complete(&in) }

// complete checks the parameters of CreateReplicationGroup and fills in what was
// not given, as AWS does.
func complete(in *CreateInput) error {
	if !groupID.MatchString(in.ID) {
		return refuse(CodeParameterValue, "The parameter ReplicationGroupIdentifier is not a valid identifier. Identifiers must begin with a letter; "+
			"must contain only ASCII letters, digits, and hyphens; must not end with a hyphen or contain two consecutive hyphens; and have at most 40 characters.")
	}
	for _, step := range []func(*CreateInput) error{completeEngine, completeMode, completeSize, checkFailover, checkAuth, checkPort} {
		if err := step(in); err != nil {
			return err
		}
	}
	return nil
}

func completeEngine(in *CreateInput) error {
	if in.Engine == "" {
		in.Engine = "redis"
	}
	if in.Engine != "redis" && in.Engine != "valkey" {
		return refuse(CodeParameterValue, "The parameter Engine is neither redis nor valkey: %s", in.Engine)
	}
	if in.NodeType == "" {
		in.NodeType = DefaultNodeType
	}
	if !strings.HasPrefix(in.NodeType, "cache.") {
		return refuse(CodeParameterValue, "Invalid Cache Node Type: %s.", in.NodeType)
	}
	return nil
}

// completeMode finds out whether cluster mode is enabled. AWS reads it from the
// parameter group; who asks for several shards can mean nothing else.
func completeMode(in *CreateInput) error {
	switch in.ClusterMode {
	case "enabled", "disabled":
	case "":
		in.ClusterMode = "disabled"
		if strings.HasSuffix(in.ParameterGroup, "cluster.on") || in.NumNodeGroups != nil && *in.NumNodeGroups > 1 {
			in.ClusterMode = "enabled"
		}
	default:
		return refuse(CodeParameterValue, "This local ElastiCache has the cluster modes enabled and disabled, not %s.", in.ClusterMode)
	}
	return nil
}

func completeSize(in *CreateInput) error {
	if in.NumCacheClusters != nil {
		if in.NumNodeGroups != nil || in.ReplicasPerGroup != nil {
			return refuse(CodeParameterMix, "NumCacheClusters does not go with NumNodeGroups or ReplicasPerNodeGroup.")
		}
		in.ReplicasPerGroup = number(*in.NumCacheClusters - 1)
	}
	if in.NumNodeGroups == nil {
		in.NumNodeGroups = number(1)
	}
	if in.ReplicasPerGroup == nil {
		in.ReplicasPerGroup = number(0)
	}
	switch shards, replicas := *in.NumNodeGroups, *in.ReplicasPerGroup; {
	case shards < 1:
		return refuse(CodeParameterValue, "The number of node groups must be at least 1, not %d.", shards)
	case shards > maxNodeGroups:
		return refuse(CodeNodeGroupsQuota, "The request cannot be processed because it would exceed the maximum of %d node groups in a replication group.", maxNodeGroups)
	case shards > 1 && in.ClusterMode == "disabled":
		return refuse(CodeParameterMix, "With cluster mode disabled there is exactly 1 node group, not %d.", shards)
	case replicas < 0 || replicas > maxReplicas:
		return refuse(CodeParameterValue, "The number of replicas in a node group must be in 0 to %d, not %d.", maxReplicas, replicas)
	}
	return nil
}

func checkFailover(in *CreateInput) error {
	enabled := in.ClusterMode == "enabled"
	auto := in.AutomaticFailover != nil && *in.AutomaticFailover
	switch {
	case enabled && in.AutomaticFailover != nil && !auto:
		return refuse(CodeParameterMix, "Redis with cluster mode enabled cannot be created with auto failover turned off.")
	case !enabled && auto && *in.ReplicasPerGroup < 1:
		return refuse(CodeParameterMix, "When using automatic failover, there must be at least 2 cache clusters in the replication group.")
	case in.MultiAZ != nil && *in.MultiAZ && !enabled && !auto:
		return refuse(CodeParameterMix, "MultiAZEnabled needs AutomaticFailoverEnabled.")
	}
	return nil
}

func checkAuth(in *CreateInput) error {
	switch n := len(in.AuthToken); {
	case n == 0:
		return nil
	case !in.TransitEncryption:
		return refuse(CodeParameterMix, "The AUTH token is only supported when encryption-in-transit is enabled.")
	case n < tokenMin || n > tokenMax:
		return refuse(CodeParameterValue, "The AUTH token must have %d to %d characters.", tokenMin, tokenMax)
	}
	return nil
}

func checkPort(in *CreateInput) error {
	if in.Port != nil && (*in.Port < 1 || *in.Port > maxPort) {
		return refuse(CodeParameterValue, "Invalid value for parameter Port: %d.", *in.Port)
	}
	return nil
}

// multiAZ is on unless it was refused where cluster mode is enabled, as on AWS.
func (g *group) multiAZ() bool {
	if g.in.MultiAZ != nil {
		return *g.in.MultiAZ
	}
	return g.clusterEnabled
}

func number(n int) *int { return &n }
