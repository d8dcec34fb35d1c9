package analyze

import (
	"maps"
	"math"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// What the probe asks, as result.ProbeCell names it.
const (
	probeWrite       = "write"
	probeRead        = "read"
	probeReadPrimary = "read_primary"
)

// silentS is from when on the probe's silence means that the service could not
// serve: it asks fifty times a second, and a busy host may delay a few of those.
const silentS = 0.1

// service adds up what the independent probe saw.
type service struct {
	okAt     map[string]map[uint64]bool // by question, by 10 ms bucket of the answer
	from, to float64                    // of the probing
	probed   bool
	readFrom string // the run's
	looks    []look
}

// look is one interval of the probing: whether there were replicas to ask.
type look struct {
	span
	replicas bool
}

func (s *service) add(iv result.Interval) {
	if len(iv.Probe) == 0 {
		return
	}
	if !s.probed {
		s.okAt, s.from, s.probed = map[string]map[uint64]bool{}, iv.FromS, true
	}
	s.to = iv.ToS
	replicas := slices.ContainsFunc(iv.Probe, func(c result.ProbeCell) bool { return c.Name == probeRead && c.Asked > 0 })
	s.looks = append(s.looks, look{span{iv.FromS, iv.ToS}, replicas})
	for _, c := range iv.Probe {
		if s.okAt[c.Name] == nil {
			s.okAt[c.Name] = map[uint64]bool{}
		}
		for i, n := range c.OKAt.N {
			if n > 0 {
				s.okAt[c.Name][c.OKAt.From+uint64(i)] = true
			}
		}
	}
}

// questionsFor are those of which any answer means that the service could serve
// an operation: reads go where the run's read_from sends them, and to the primary
// where no replica was ever there.
func (s *service) questionsFor(write bool) []string {
	switch {
	case write:
		return []string{probeWrite}
	case s.readFrom == "primary" || len(s.okAt[probeRead]) == 0:
		return []string{probeReadPrimary}
	case s.readFrom == "replica":
		return []string{probeRead}
	}
	return []string{probeRead, probeReadPrimary}
}

// gaps are the stretches without an answer to any of the questions that are
// longer than silentS, open ones to the end of the probing.
func (s *service) gaps(questions []string) []span {
	answered := map[uint64]bool{}
	for _, q := range questions {
		maps.Copy(answered, s.okAt[q])
	}
	if slices.Equal(questions, []string{probeRead}) {
		s.readAlone(answered)
	}
	var out []span
	last := s.from
	consider := func(to float64) {
		if to-last > silentS {
			out = append(out, span{last, to})
		}
	}
	for _, b := range slices.Sorted(maps.Keys(answered)) {
		consider(micro(float64(b) * bucketS))
		last = micro(float64(b+1) * bucketS)
	}
	consider(s.to)
	return out
}

// readAlone adds the reads that a primary answered while it had no replica: there
// go-redis sends them to it. When the last one went, or the first one came, in an
// interval is not known: the one before and the one after count, too.
func (s *service) readAlone(answered map[uint64]bool) {
	for i, l := range s.looks {
		if l.replicas {
			continue
		}
		from, to := s.looks[max(0, i-1)].from, s.looks[min(len(s.looks)-1, i+1)].to
		for b := uint64(from / bucketS); micro(float64(b)*bucketS) < to; b++ {
			if s.okAt[probeReadPrimary][b] {
				answered[b] = true
			}
		}
	}
}

// span is a stretch of the run, seconds.
type span struct{ from, to float64 }

// overlap is how much of the spans is between two offsets.
func overlap(spans []span, from, to float64) float64 {
	sum := 0.0
	for _, s := range spans {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

// split divides each outage into what the service could not serve, and what the
// client cost on top of it. What rankbench itself did not run is neither: its
// probe was silent then, too.
func (s *service) split(outages []result.Outage, pauses []result.Pause) {
	if !s.probed {
		return
	}
	gaps := map[bool][]span{true: awake(s.gaps(s.questionsFor(true)), pauses), false: awake(s.gaps(s.questionsFor(false)), pauses)}
	for i := range outages {
		o := &outages[i]
		service := micro(overlap(gaps[o.Op == "set"], o.FromS, o.ToS))
		client := micro(max(0, o.DurationS-o.PausedS-service))
		o.ServiceS, o.ClientS = &service, &client
	}
}

// awake is the spans without the pauses.
func awake(spans []span, pauses []result.Pause) []span {
	for _, p := range pauses {
		var out []span
		for _, s := range spans {
			for _, part := range []span{{s.from, min(s.to, p.FromS)}, {max(s.from, p.ToS), s.to}} {
				if part.to > part.from {
					out = append(out, part)
				}
			}
		}
		spans = out
	}
	return spans
}

// outages are the service's own: longer than the run's threshold.
func (s *service) outages(threshold float64, pauses []result.Pause) []result.ServiceOutage {
	var out []result.ServiceOutage
	if !s.probed {
		return out
	}
	for _, what := range []string{"write", "read"} {
		for _, g := range s.gaps(s.questionsFor(what == "write")) {
			o := result.ServiceOutage{What: what, FromS: g.from, ToS: g.to, Open: g.to >= s.to, PausedS: pausedIn(pauses, g.from, g.to)}
			if o.DurationS = micro(g.to - g.from - o.PausedS); o.DurationS > threshold {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b result.ServiceOutage) int { return int(math.Copysign(1, a.FromS-b.FromS)) })
	return out
}
