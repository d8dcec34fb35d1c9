package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Timings say how long the steps of an operation take at the least. The real
// work behind a step (a process's start, a copy of the data set, slots on the
// move) takes what it takes, and comes on top where it takes longer.
type Timings struct {
	Create time.Duration // CreateReplicationGroup → available
	Delete time.Duration // DeleteReplicationGroup → gone

	FailoverStart time.Duration // call of TestFailover → the primary is down
	Failover      time.Duration // the primary is down → a replica is promoted
	NameMoved     time.Duration // promoted → the primary endpoint's name follows (cluster mode disabled)
	RecoveryStart time.Duration // promoted → "Recovering cache nodes"
	Rejoin        time.Duration // promoted → the empty node starts to copy the data set
	Recovery      time.Duration // promoted → "Finished recovery for cache nodes"

	Replica        time.Duration // call → the new replica's process starts
	ReplicaSettled time.Duration // added → "Increase replica count completed"
	ReplicaRemoved time.Duration // call → "Decrease Replica count operation completed"
	Drain          time.Duration // the longest wait for clients to leave a node that is out of the topology

	Shard  time.Duration // call → the new shard's processes start
	Reboot time.Duration // a rebooted node is down
	TTL    time.Duration // of the endpoints' names
}

// Profile holds the timings of the two kinds of groups.
type Profile struct {
	ClusterEnabled, ClusterDisabled Timings
}

func (p Profile) of(clusterEnabled bool) Timings {
	if clusterEnabled {
		return p.ClusterEnabled
	}
	return p.ClusterDisabled
}

// The names of the profiles.
const (
	Fast    = "fast"
	AWSLike = "aws-like"
)

// NewProfile returns the profile of a name, Fast or AWSLike, with every time
// but the TTL multiplied by scale, and over that the overrides, by the names
// that TimingNames lists.
func NewProfile(name string, scale float64, overrides map[string]time.Duration) (Profile, error) {
	if scale < 0 {
		return Profile{}, fmt.Errorf("time scale: %v is negative", scale)
	}
	var p Profile
	switch name {
	case Fast:
		p = fast()
	case AWSLike:
		p = awsLike()
	default:
		return Profile{}, fmt.Errorf("timing profile %q is neither %s nor %s", name, Fast, AWSLike)
	}
	for _, t := range []*Timings{&p.ClusterEnabled, &p.ClusterDisabled} {
		t.scale(scale)
		if err := t.override(overrides); err != nil {
			return Profile{}, err
		}
	}
	return p, nil
}

// fast is for CI.
func fast() Profile {
	t := Timings{
		Failover:      2 * time.Second,
		RecoveryStart: time.Second, Rejoin: time.Second, Recovery: 3 * time.Second,
		Replica: 2 * time.Second, ReplicaRemoved: 2 * time.Second, Drain: 15 * time.Second,
		TTL: time.Second,
	}
	return Profile{ClusterEnabled: t, ClusterDisabled: t}
}

// awsLike has the offsets that practitioners have noted of ElastiCache: a game
// backend's failure tests of February 2020 (failover: case 2 and, with cluster
// mode disabled, case 1; replicas: cases 6 and 7) and an AWS team's
// measurement of an idle group (a shard added: 6:33). Create, Delete, Reboot
// and Drain are estimates.
func awsLike() Profile {
	enabled := Timings{
		Create: 5 * time.Minute, Delete: time.Minute,
		FailoverStart: 5 * time.Second, Failover: 61 * time.Second,
		RecoveryStart: 133 * time.Second, Rejoin: 460 * time.Second, Recovery: 490 * time.Second,
		Replica: 303 * time.Second, ReplicaSettled: 39 * time.Second,
		ReplicaRemoved: 342 * time.Second, Drain: time.Minute,
		Shard: 393 * time.Second, Reboot: 30 * time.Second, TTL: 5 * time.Second,
	}
	disabled := enabled
	disabled.FailoverStart, disabled.Failover, disabled.NameMoved = 10*time.Second, 16*time.Second, 24*time.Second
	disabled.RecoveryStart, disabled.Rejoin, disabled.Recovery = 48*time.Second, 350*time.Second, 382*time.Second
	return Profile{ClusterEnabled: enabled, ClusterDisabled: disabled}
}

// byName lists the timings by the names they are overridden by.
func (t *Timings) byName() map[string]*time.Duration {
	return map[string]*time.Duration{
		"create": &t.Create, "delete": &t.Delete,
		"failover-start": &t.FailoverStart, "failover": &t.Failover, "name-moved": &t.NameMoved,
		"recovery-start": &t.RecoveryStart, "rejoin": &t.Rejoin, "recovery": &t.Recovery,
		"replica": &t.Replica, "replica-settled": &t.ReplicaSettled,
		"replica-removed": &t.ReplicaRemoved, "drain": &t.Drain,
		"shard": &t.Shard, "reboot": &t.Reboot, "ttl": &t.TTL,
	}
}

// TimingNames lists the names of the timings.
func TimingNames() []string { return slices.Sorted(maps.Keys(new(Timings).byName())) }

func (t *Timings) scale(by float64) {
	for name, d := range t.byName() {
		if name != "ttl" {
			*d = time.Duration(float64(*d) * by)
		}
	}
}

func (t *Timings) override(with map[string]time.Duration) error {
	all := t.byName()
	for name, d := range with {
		if all[name] == nil {
			return fmt.Errorf("timing %q: there are %s", name, strings.Join(TimingNames(), ", "))
		}
		if d < 0 {
			return fmt.Errorf("timing %s: %v is negative", name, d)
		}
		*all[name] = d
	}
	return nil
}
