package plan

import "github.com/rankbench/rankbench/internal/ranking"

// Source makes operations. It is a pure function of n, safe for concurrent
// use: the same seed and n give the same operation, whatever the number of
// workers. Op overwrites into, whose buffers it reuses.
type Source interface {
	Op(n uint64, into *ranking.Op)
}

type source struct {
	ranking *ranking.Ranking
	kind    ranking.Kind
	count   int
	choose  ranking.Chooser
	seed    uint64
}

var _ Source = (*source)(nil)

func (s *source) Op(n uint64, into *ranking.Op) {
	draw := ranking.NewStream(s.seed, n)
	into.Kind, into.Count = s.kind, s.count
	switch s.kind {
	case ranking.Set:
		into.SetMember(s.ranking, s.choose.Choose(&draw))
		into.Score = float64(draw.Below(uint64(s.ranking.ScoreSpread)))
	case ranking.Get:
		into.SetMember(s.ranking, s.choose.Choose(&draw))
	case ranking.Find:
		into.SetMembers(s.ranking, s.count, &s.choose, &draw)
	case ranking.FindByOrder:
		pages := s.ranking.Members - int64(s.count) + 1 // starts with a full page
		into.Start = int64(draw.Below(uint64(max(pages, 1))))
	}
}
