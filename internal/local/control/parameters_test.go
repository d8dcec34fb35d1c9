package control

import (
	"errors"
	"strings"
	"testing"
)

func TestCreateRefusesWhatAWSRefuses(t *testing.T) {
	yes, no := true, false
	for _, row := range []struct {
		name string
		in   CreateInput
		code string
	}{
		{"no id", CreateInput{}, CodeParameterValue},
		{"two hyphens", CreateInput{ID: "a--b"}, CodeParameterValue},
		{"a slash", CreateInput{ID: "a/b"}, CodeParameterValue},
		{"too long", CreateInput{ID: strings.Repeat("a", 41)}, CodeParameterValue},
		{"memcached", CreateInput{ID: "a", Engine: "memcached"}, CodeParameterValue},
		{"a node type of EC2", CreateInput{ID: "a", NodeType: "r6g.large"}, CodeParameterValue},
		{"a mode there is not", CreateInput{ID: "a", ClusterMode: "compatible"}, CodeParameterValue},
		{"shards without cluster mode", CreateInput{ID: "a", ClusterMode: "disabled", NumNodeGroups: number(2)}, CodeParameterMix},
		{"no shard", CreateInput{ID: "a", NumNodeGroups: number(0)}, CodeParameterValue},
		{"91 shards", CreateInput{ID: "a", NumNodeGroups: number(91)}, CodeNodeGroupsQuota},
		{"6 replicas", CreateInput{ID: "a", ReplicasPerGroup: number(6)}, CodeParameterValue},
		{"both counts", CreateInput{ID: "a", NumCacheClusters: number(2), ReplicasPerGroup: number(1)}, CodeParameterMix},
		{"failover without a replica", CreateInput{ID: "a", NumCacheClusters: number(1), AutomaticFailover: &yes}, CodeParameterMix},
		{"cluster mode without failover", CreateInput{ID: "a", NumNodeGroups: number(2), AutomaticFailover: &no}, CodeParameterMix},
		{"zones without failover", CreateInput{ID: "a", MultiAZ: &yes}, CodeParameterMix},
		{"a token in clear", CreateInput{ID: "a", AuthToken: strings.Repeat("x", 16)}, CodeParameterMix},
		{"a short token", CreateInput{ID: "a", AuthToken: "short", TransitEncryption: true}, CodeParameterValue},
	} {
		var refusal *Error
		if err := Validate(row.in); !errors.As(err, &refusal) || refusal.Code != row.code {
			t.Errorf("%s: %v, want %s", row.name, err, row.code)
		}
	}
}

func TestClusterModeFollowsFromWhatIsAskedFor(t *testing.T) {
	for _, row := range []struct {
		in   CreateInput
		want string
	}{
		{CreateInput{ID: "a"}, "disabled"},
		{CreateInput{ID: "a", NumNodeGroups: number(2)}, "enabled"},
		{CreateInput{ID: "a", ParameterGroup: "default.redis7.cluster.on"}, "enabled"},
		{CreateInput{ID: "a", ClusterMode: "enabled"}, "enabled"},
	} {
		if err := complete(&row.in); err != nil || row.in.ClusterMode != row.want {
			t.Errorf("%+v: %q (%v), want %q", row.in, row.in.ClusterMode, err, row.want)
		}
	}
}
