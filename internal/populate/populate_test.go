package populate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/ranking"
)

func TestFillIsExactOnTheServerAndItsReplicas(t *testing.T) {
	for shape, o := range map[string]cluster.Options{
		"cluster":    {Replicas: 2},
		"standalone": {Standalone: true, Replicas: 1},
	} {
		servers := start(t, o)
		for _, random := range []bool{false, true} {
			for name, change := range map[string]func(*ranking.Spec){
				"usual":                   func(*ranking.Spec) {},
				"one member":              func(s *ranking.Spec) { s.Members, s.ScoreSpread = 1, 1 },
				"exactly one batch":       func(s *ranking.Spec) { s.Members = 1000 },
				"one more than a batch":   func(s *ranking.Spec) { s.Members = 1001 },
				"a score for each member": func(s *ranking.Spec) { s.ScoreSpread = s.Members },
				"one score for all":       func(s *ranking.Spec) { s.ScoreSpread = 1 },
				"another seed":            func(s *ranking.Spec) { s.Seed = 99 },
			} {
				t.Run(fmt.Sprintf("%s/%s/random %t", shape, name, random), func(t *testing.T) {
					s := servers.site(t, fmt.Sprintf("exact:%s:%t", strings.ReplaceAll(name, " ", "-"), random))
					spec := s.spec()
					change(&spec)
					o := s.options(t, spec)
					o.Random = random
					r := s.fill(t, o)
					s.expectExact(t, spec) // at once: Populate has waited for the replicas
					expectReport(t, r, spec, len(servers.addrs)-1)
				})
			}
		}
	}
}

func expectReport(t *testing.T, r populate.Report, spec ranking.Spec, replicas int) {
	t.Helper()
	if r.Members != spec.Members || r.AlreadyRight || r.ResumedAt != 0 || r.Sampled != int(min(spec.Members, 1000)) ||
		r.Replicas != replicas || r.ReplicasWanted != replicas {
		t.Errorf("report %+v, want %d members, all new, on %d replicas", r, spec.Members, replicas)
	}
	if r.Seconds <= 0 || r.MembersPerSec <= 0 || r.MemoryUsagePerMember <= 0 {
		t.Errorf("report %+v lacks a figure", r)
	}
	// A member of 7 bytes takes about 100 in a skiplist and a hash table; in a
	// small listpack less. Buffers of the connections disturb small rankings.
	if per := r.BytesPerMember; spec.Members > 4000 && (per < 50 || per > 400) {
		t.Errorf("%.1f bytes per member, want about 100", per)
	}
}

func TestOrderDoesNotChangeTheContent(t *testing.T) {
	servers := start(t, cluster.Options{Standalone: true})
	first := func(random bool) (members []string) {
		s := servers.site(t, fmt.Sprintf("order:%t", random))
		o := s.options(t, s.spec())
		o.Random, o.Connections = random, 1
		o.Appender = func(size int) populate.Appender {
			return appenderFunc(func(ctx context.Context, m []string, scores []float64) error {
				for i := range m {
					members = append(members, strings.Clone(m[i])) // a view of a buffer that is used again
				}
				return s.Appender(size).Add(ctx, m, scores)
			})
		}
		s.fill(t, o)
		return members
	}
	ascending, random := first(false), first(true)
	if slices.Equal(ascending, random) {
		t.Error("random order is ascending order")
	}
	slices.Sort(ascending)
	slices.Sort(random)
	if !slices.Equal(ascending, random) {
		t.Error("the two orders send different members")
	}
}

type appenderFunc func(context.Context, []string, []float64) error

func (f appenderFunc) Add(ctx context.Context, m []string, s []float64) error { return f(ctx, m, s) }

func TestWhatIsRightIsLeftAlone(t *testing.T) {
	s := start(t, cluster.Options{Replicas: 1}).site(t, "right")
	o := s.options(t, s.spec())
	first := s.fill(t, o)
	// A load has changed a score to another possible one: that is no damage.
	_, member := s.anyMember(t)
	s.on(t, "zadd", s.key, 3, member)
	before := s.zadds(t)
	again := s.fill(t, o)
	if sent := s.zadds(t) - before; !again.AlreadyRight || sent != 0 {
		t.Errorf("%+v, and %d ZADDs, want none", again, sent)
	}
	if again.BytesPerMember <= 0 || again.BytesPerMember-first.BytesPerMember > 0.01 || again.Sampled == 0 || again.Replicas != 1 {
		t.Errorf("%+v, after %+v", again, first)
	}
}

func (s *site) anyMember(t *testing.T) (score float64, member string) {
	t.Helper()
	for member, score := range s.content(t)[s.addrs[0]] {
		return score, member
	}
	t.Fatal("no member")
	return 0, ""
}

func TestForceFillsAgain(t *testing.T) {
	s := start(t, cluster.Options{Replicas: 1}).site(t, "force")
	o := s.options(t, s.spec())
	s.fill(t, o)
	_, member := s.anyMember(t)
	s.on(t, "zadd", s.key, 12345, member, 1, "somebody else")
	o.Force = true
	if r := s.fill(t, o); r.AlreadyRight || r.ResumedAt != 0 {
		t.Errorf("%+v", r)
	}
	s.expectExact(t, s.spec())

	other := s.spec()
	other.Members, other.ScoreSpread, other.Seed = 777, 7, 8
	oo := s.options(t, other)
	oo.Force, oo.Random = true, true
	s.fill(t, oo)
	s.expectExact(t, other)
}

func TestAnotherRankingIsRefusedWithWhatDiffers(t *testing.T) {
	s := start(t, cluster.Options{Replicas: 1}).site(t, "other")
	s.fill(t, s.options(t, s.spec()))
	for want, change := range map[string]func(*populate.Options, *ranking.Spec){
		"members is 4321, not 4320":                 func(_ *populate.Options, s *ranking.Spec) { s.Members-- },
		"score_spread is 97, not 98":                func(_ *populate.Options, s *ranking.Spec) { s.ScoreSpread++ },
		"seed is 5, not 6":                          func(_ *populate.Options, s *ranking.Spec) { s.Seed++ },
		"member_format is m:%05d, not n:%05d":       func(_ *populate.Options, s *ranking.Spec) { s.MemberFormat = "n:%05d" },
		"order is ascending, not random":            func(o *populate.Options, _ *ranking.Spec) { o.Random = true },
		"members is 4321, not 10, score_spread is ": func(_ *populate.Options, s *ranking.Spec) { s.Members, s.ScoreSpread = 10, 2 },
	} {
		spec := s.spec()
		var o populate.Options
		change(&o, &spec)
		random := o.Random
		o = s.options(t, spec)
		o.Random = random
		before := s.zadds(t)
		_, err := populate.Populate(t.Context(), s, o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(fail.HintOf(err), "--force") {
			t.Errorf("%v (hint %q), want %q", err, fail.HintOf(err), want)
		}
		if s.zadds(t) != before {
			t.Error("it was written to")
		}
		if random {
			continue // the order of filling is of no account for a load
		}
		if err := populate.Check(t.Context(), s, o.Ranking); err == nil || !strings.Contains(err.Error(), want) || fail.HintOf(err) == "" {
			t.Errorf("check: %v (hint %q), want %q", err, fail.HintOf(err), want)
		}
	}
	s.expectExact(t, s.spec())
}

func TestForeignKeysAreNeverTouched(t *testing.T) {
	servers := start(t, cluster.Options{Replicas: 1})
	for kind, make := range map[string][]any{
		"string": {"set", "", "precious"},
		"zset":   {"zadd", "", 1, "precious"},
		"hash":   {"hset", "", "precious", 1},
	} {
		t.Run(kind, func(t *testing.T) {
			s := servers.site(t, "foreign:"+kind)
			make[1] = s.key
			s.on(t, make...)
			before := s.on(t, "dump", s.key)
			for _, force := range []bool{false, true} {
				o := s.options(t, s.spec())
				o.Force = force
				_, err := populate.Populate(t.Context(), s, o)
				if err == nil || !strings.Contains(err.Error(), kind) || fail.HintOf(err) == "" {
					t.Errorf("force %t: %v (hint %q)", force, err, fail.HintOf(err))
				}
			}
			if err := populate.Check(t.Context(), s, newRanking(t, s.spec())); err == nil || !strings.Contains(err.Error(), kind) {
				t.Errorf("check: %v", err)
			}
			if after := s.on(t, "dump", s.key); after != before {
				t.Error("it was changed")
			}
			if n := s.on(t, "exists", ranking.MarkerKey(s.key)); n != int64(0) {
				t.Error("it was marked as ours")
			}
		})
	}
}

// TestKeyThatTookTheRankingsNameIsNotTouched: the marker is still there.
func TestKeyThatTookTheRankingsNameIsNotTouched(t *testing.T) {
	s := start(t, cluster.Options{Standalone: true}).site(t, "taken")
	for _, force := range []bool{false, true} {
		o := s.options(t, s.spec())
		s.fill(t, o)
		s.on(t, "set", s.key, "precious")
		o.Force = force
		_, err := populate.Populate(t.Context(), s, o)
		if err == nil || !strings.Contains(err.Error(), "string") || fail.HintOf(err) == "" {
			t.Errorf("force %t: %v (hint %q)", force, err, fail.HintOf(err))
		}
		if v := s.on(t, "get", s.key); v != "precious" {
			t.Errorf("force %t: it is now %v", force, v)
		}
		s.on(t, "unlink", s.key)
	}
}

func TestLostMembersAreFilledAgain(t *testing.T) {
	servers := start(t, cluster.Options{Replicas: 1})
	for name, lose := range map[string]func(*testing.T, *site){
		"one":      func(t *testing.T, s *site) { _, m := s.anyMember(t); s.on(t, "zrem", s.key, m) },
		"the last": func(t *testing.T, s *site) { s.on(t, "zremrangebyrank", s.key, -1, -1) },
		"all":      func(t *testing.T, s *site) { s.on(t, "unlink", s.key) },
	} {
		t.Run(name, func(t *testing.T) {
			s := servers.site(t, "lost:"+strings.ReplaceAll(name, " ", "-"))
			o := s.options(t, s.spec())
			s.fill(t, o)
			lose(t, s)
			if err := populate.Check(t.Context(), s, o.Ranking); err == nil || fail.HintOf(err) == "" {
				t.Errorf("check: %v (hint %q)", err, fail.HintOf(err))
			}
			if r := s.fill(t, o); r.AlreadyRight {
				t.Errorf("%+v", r)
			}
			s.expectExact(t, s.spec())
		})
	}
}

func TestForeignMembersAreRefusedAndLeft(t *testing.T) {
	s := start(t, cluster.Options{Replicas: 1}).site(t, "extra")
	o := s.options(t, s.spec())
	s.fill(t, o)
	s.on(t, "zadd", s.key, 1, "somebody else")
	before := s.zadds(t)
	_, err := populate.Populate(t.Context(), s, o)
	if err == nil || !strings.Contains(err.Error(), "4322") || fail.HintOf(err) == "" || s.zadds(t) != before {
		t.Errorf("%v (hint %q), and %d ZADDs", err, fail.HintOf(err), s.zadds(t)-before)
	}
	if n := s.on(t, "zcard", s.key); n != int64(4322) {
		t.Errorf("%v members", n)
	}
	if err := populate.Check(t.Context(), s, o.Ranking); err == nil {
		t.Error("check has no complaint")
	}
}

func TestCheckFindsScoresThatCannotBe(t *testing.T) {
	s := start(t, cluster.Options{Standalone: true}).site(t, "scores")
	spec := s.spec()
	spec.Members = 50 // all of them are looked at
	o := s.options(t, spec)
	s.fill(t, o)
	for _, score := range []any{97, -1, 0.5, "inf"} {
		_, member := s.anyMember(t)
		s.on(t, "zadd", s.key, score, member)
		err := populate.Check(t.Context(), s, o.Ranking)
		if err == nil || !strings.Contains(err.Error(), member) || fail.HintOf(err) == "" {
			t.Errorf("score %v: %v (hint %q)", score, err, fail.HintOf(err))
		}
		s.on(t, "zadd", s.key, 3, member)
	}
	if err := populate.Check(t.Context(), s, o.Ranking); err != nil {
		t.Error(err)
	}
}

func TestCheckOfNothingSaysWhatToDo(t *testing.T) {
	s := start(t, cluster.Options{Standalone: true}).site(t, "nothing")
	err := populate.Check(t.Context(), s, newRanking(t, s.spec()))
	if err == nil || !strings.Contains(fail.HintOf(err), "rankbench populate") {
		t.Errorf("%v (hint %q)", err, fail.HintOf(err))
	}
	if n := s.on(t, "dbsize"); n != int64(0) {
		t.Errorf("%v keys", n)
	}
}

// TestMarkerIsInTheRankingsSlot: by the server's own reckoning, and by filling
// on three shards.
func TestMarkerIsInTheRankingsSlot(t *testing.T) {
	servers := start(t, cluster.Options{Shards: 3})
	for _, key := range []string{"ranking", "lb:2026", "{lb}", "{lb}:world", "a{lb}b", "{a}{b}", "{of:another}:rankbench"} {
		slots := map[any]bool{}
		for _, k := range []string{key, ranking.MarkerKey(key)} {
			slot, err := servers.primary().ClusterKeySlot(t.Context(), k).Result()
			if err != nil {
				t.Fatal(err)
			}
			slots[slot] = true
		}
		if len(slots) != 1 {
			t.Errorf("%q and its marker %q are in slots %v", key, ranking.MarkerKey(key), slots)
		}
		s := servers.site(t, key)
		spec := s.spec()
		spec.Members = 100
		s.fill(t, s.options(t, spec))
		if err := populate.Check(t.Context(), s, newRanking(t, spec)); err != nil {
			t.Error(err)
		}
	}
}
