package cluster

import (
	"strings"
	"testing"
)

// The server at hand has one version; what is written for others is checked here.
func TestACLRulesFollowTheServersVersion(t *testing.T) {
	for _, tc := range []struct {
		major, minor int
		has, hasNot  []string
	}{
		{6, 0, []string{"-config", "-cluster +cluster|", "+cluster|slots"}, []string{"&*", "-failover", "-cluster|", "|shards", "|dryrun"}},
		{6, 2, []string{"&*", "-failover", "-acl +acl|cat"}, []string{"-cluster|", "-acl|", "|shards"}},
		{7, 0, []string{"&*", "-failover", "-cluster +cluster|", "+cluster|shards", "-acl +acl|cat", "+acl|dryrun"}, []string{"-cluster|", "-acl|", "|myshardid"}},
		{7, 2, []string{"+cluster|myshardid"}, []string{"-cluster|", "|links", "|setslot"}},
		{9, 0, []string{"-cluster +cluster|", "+cluster|myshardid"}, []string{"-cluster|", "|migrat", "|syncslots"}},
	} {
		c := &Cluster{opts: Options{Restricted: true}, server: Server{major: tc.major, minor: tc.minor}}
		rules := c.everything() + c.restrictions() + " "
		for _, want := range tc.has {
			if !strings.Contains(rules, want) {
				t.Errorf("%d.%d: %q is not in %q", tc.major, tc.minor, want, rules)
			}
		}
		for _, not := range tc.hasNot {
			if strings.Contains(rules, not) {
				t.Errorf("%d.%d: %q is in %q", tc.major, tc.minor, not, rules)
			}
		}
	}
}

func TestServedCountsWhatClientsAskAndNotWhatAPrimarySends(t *testing.T) {
	stats := "# Commandstats\r\n" +
		"cmdstat_get:calls=3,usec=1,usec_per_call=1.00,rejected_calls=4,failed_calls=0\r\n" +
		"cmdstat_set:calls=100,usec=1,usec_per_call=1.00,rejected_calls=20,failed_calls=0\r\n" +
		"cmdstat_memory|usage:calls=1000,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_evalsha:calls=10000,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_info:calls=100000,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0\r\n"
	if got := countServed(stats, []string{"get", "memory|usage"}); got != 11027 {
		t.Errorf("counted %d, want 11027", got)
	}
}
