package aws

import (
	"encoding/json"
	"fmt"
	"strings"
)

type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
}

// Policy returns the smallest IAM policy with which a group can be drilled, as
// JSON. What only reads is allowed for everything: DescribeEvents and CloudWatch
// know no resources, and a group's nodes are found by listing all. Who the
// caller is (sts:GetCallerIdentity) needs no permission.
//
// Source of the resources: "Actions, resources, and condition keys for Amazon
// ElastiCache" of the Service Authorization Reference.
func Policy(region, account, group string) string {
	arn := func(kind, name string) string {
		return fmt.Sprintf("arn:%s:elasticache:%s:%s:%s:%s", partition(region), region, account, kind, strings.ToLower(name))
	}
	p := policy{"2012-10-17", []statement{
		{"Observe", "Allow", []string{
			"elasticache:DescribeEvents", "elasticache:DescribeReplicationGroups", "elasticache:DescribeCacheClusters",
			"cloudwatch:GetMetricData", "cloudtrail:LookupEvents",
		}, []string{"*"}},
		{"Tags", "Allow", []string{"elasticache:ListTagsForResource"}, []string{arn("replicationgroup", group)}},
		{"Drill", "Allow", []string{
			"elasticache:TestFailover", "elasticache:IncreaseReplicaCount", "elasticache:DecreaseReplicaCount",
			"elasticache:ModifyReplicationGroupShardConfiguration",
		}, []string{arn("replicationgroup", group)}},
		{"Reboot", "Allow", []string{"elasticache:RebootCacheCluster"}, []string{arn("cluster", group+"-*")}},
	}}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // strings cannot fail to be encoded
	}
	return string(text) + "\n"
}

// partition is the part of AWS that a region is in.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}
