package scenario

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
)

// scenario makes the scenario of a file. Where errors were reported it is
// only good for finding more of them.
func (c check) scenario(f *file) *Scenario {
	s := &Scenario{
		Name:            f.Name,
		About:           f.About,
		Seed:            or(f.Seed, defaultSeed),
		Order:           or(f.Ranking.Order, Ascending),
		Topology:        c.topology(f.Topology),
		OutageThreshold: or(f.OutageThreshold, defaultThreshold),
		ErrorPause:      or(f.ErrorPause, defaultPause),
	}
	c.name("name", s.Name)
	c.oneOf("ranking.order", s.Order, Ascending, Random)
	within(c, "outage_threshold", s.OutageThreshold, minThreshold, maxThreshold)
	within(c, "error_pause", s.ErrorPause, 0, maxPause)
	s.Ranking = c.ranking(f.Ranking, s.Seed)
	s.Phases = c.phases(f.Phases, s.Ranking)
	s.Drill = c.drill(f.Drill, s.duration())
	s.Audit = c.audit(f, s)
	s.Limits = c.limits(f.Limits, s.Phases)
	if f.Limits.LostWrites != nil && !s.Audit {
		c.doc.Errorf("limits.lost_writes", "needs audit: true")
	}
	return s
}

// duration is how long the load lasts.
func (s *Scenario) duration() (d time.Duration) {
	for _, p := range s.Phases {
		d += p.Warmup + p.Duration
	}
	return d
}

// audit says whether acknowledged Sets are read back: in a drill that sends any,
// unless the file says otherwise.
func (c check) audit(f *file, s *Scenario) bool {
	sets := slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.sends(ranking.Set) })
	if f.Audit != nil && *f.Audit && !sets {
		c.doc.Errorf("audit", "no phase sends set: there is nothing to read back")
	}
	return or(f.Audit, s.Drill != nil) && sets
}

// plainName is what can name a folder everywhere and stand in a table.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// name reports a name that is given and cannot be one.
func (c check) name(path, name string) {
	if c.doc.Has(path) && !plainName.MatchString(name) {
		c.doc.Errorf(path, "%q is not a name: use up to 100 letters, digits, dots, dashes and underscores", name)
	}
}

func (c check) topology(k *topologyKeys) *Topology {
	if k == nil {
		return nil
	}
	t := &Topology{Shards: or(k.Shards, 1), Replicas: or(k.Replicas, 0), ClusterMode: or(k.ClusterMode, "")}
	within(c, "topology.shards", t.Shards, 1, maxShards)
	within(c, "topology.replicas", t.Replicas, 0, maxReplicas)
	if k.ClusterMode != nil {
		c.oneOf("topology.cluster_mode", t.ClusterMode, Enabled, Disabled)
	}
	if t.ClusterMode == Disabled && t.Shards > 1 {
		c.doc.Errorf("topology.cluster_mode", "disabled leaves one shard, not %d", t.Shards)
	}
	return t
}

// ranking fills in the spec and has package ranking check it.
func (c check) ranking(k rankingKeys, seed uint64) ranking.Spec {
	members := or(k.Members, ranking.MaxMembers) // missing is reported already; check the rest all the same
	s := ranking.Spec{
		Key:          or(k.Key, defaultKey),
		Members:      members,
		ScoreSpread:  or(k.ScoreSpread, max(1, min(defaultSpread, members))),
		MemberFormat: or(k.MemberFormat, ranking.DefaultMemberFormat),
		Seed:         seed,
	}
	_, err := ranking.New(s)
	c.rankingErrors(err)
	if members >= 1 && s.ScoreSpread > members {
		c.doc.Errorf("ranking.score_spread",
			"%d is above ranking.members, which is %d: there are not enough members for so many scores", s.ScoreSpread, members)
	}
	return s
}

// rankingErrors reports the errors of ranking.New, which are joined and begin
// with the key each is about.
func (c check) rankingErrors(err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, e := range joined.Unwrap() {
		key, message, _ := strings.Cut(e.Error(), ": ")
		c.doc.Errorf("ranking."+key, "%s", message)
	}
}
