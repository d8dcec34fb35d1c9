package target

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

// Worker runs the operations of one worker of the load. It owns its commands
// and their arguments and uses them again for each operation, so that Set and
// Get allocate nothing; it is not safe for concurrent use.
type Worker struct {
	backend backend
	key     string
	ctx     *opContext
	added   *atomic.Uint64 // Sets that added a member; shared, but hardly ever used

	member, bound string // arguments of the single commands, set before each
	score         float64
	start, stop   int64
	boundBuf      []byte

	set   *redis.IntCmd
	get   *redis.FloatCmd
	above *redis.IntCmd
	page  *redis.ZSliceCmd

	find  finder
	ranks []int64
	rows  []float64
}

var _ load.Target = (*Worker)(nil)

func newWorker(b backend, key string, index int, added *atomic.Uint64) *Worker {
	w := &Worker{backend: b, key: key, added: added, ctx: &opContext{Context: context.Background(), stripe: index}}
	w.set = redis.NewIntCmd(w.ctx, "zadd", key, &w.score, &w.member)
	w.get = redis.NewFloatCmd(w.ctx, "zscore", key, &w.member)
	w.above = redis.NewIntCmd(w.ctx, "zcount", key, &w.bound, "+inf")
	w.page = redis.NewZSliceCmd(w.ctx, "zrevrange", key, &w.start, &w.stop, "withscores")
	for _, c := range []redis.Cmder{w.set, w.get, w.above, w.page} {
		c.SetFirstKeyPos(1)
	}
	return w
}

// Do runs one operation. Its error is what the caller of go-redis gets, after
// the driver's own retries; errMissing where a member was not there.
func (w *Worker) Do(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	if w.ctx.Context != ctx {
		w.ctx.Context = ctx
	}
	w.ctx.begin(op.Kind)
	reply, err := w.run(op)
	if err != nil {
		w.backend.failed(w.ctx)
	}
	return reply, err
}

func (w *Worker) run(op *ranking.Op) (ranking.Reply, error) {
	switch op.Kind {
	case ranking.Set:
		return w.doSet(op)
	case ranking.Get:
		return w.doGet(op)
	case ranking.Find:
		return w.doFind(op)
	default:
		return w.doFindByOrder(op)
	}
}

// doSet: ZADD key score member. An answer of 1 says that the member was added:
// it was not there, though it must have been. The Set itself is none the worse
// for it; it is counted, and told.
func (w *Worker) doSet(op *ranking.Op) (ranking.Reply, error) {
	w.member, w.score = op.Member, op.Score
	w.set.SetErr(nil)
	if err := w.backend.write(w.ctx, w.set); err != nil {
		return ranking.Reply{}, err
	}
	added := w.set.Val() > 0
	if added {
		w.added.Add(1)
	}
	return ranking.Reply{Rows: 1, Found: !added}, nil
}

// doGet: ZSCORE key member, then ZCOUNT key (score +inf; the rank is the count plus 1.
func (w *Worker) doGet(op *ranking.Op) (ranking.Reply, error) {
	w.member = op.Member
	w.get.SetErr(nil)
	if err := w.backend.read(w.ctx, w.get); err != nil {
		return ranking.Reply{}, err
	}
	score := w.get.Val()
	above, err := w.countAbove(score)
	if err != nil {
		return ranking.Reply{}, err
	}
	return ranking.Reply{Score: score, Rank: above + 1, Rows: 1, Found: true}, nil
}

// countAbove: how many members have a greater score.
func (w *Worker) countAbove(score float64) (int64, error) {
	w.boundBuf = AppendBound(w.boundBuf[:0], score)
	w.bound = ranking.View(w.boundBuf)
	w.above.SetErr(nil)
	err := w.backend.read(w.ctx, w.above)
	return w.above.Val(), err
}

// AppendBound appends an exclusive bound of ZCOUNT: "(" and the score, exactly.
func AppendBound(buf []byte, score float64) []byte {
	return strconv.AppendFloat(append(buf, '('), score, 'f', -1, 64)
}

// doFindByOrder: ZREVRANGE key start stop WITHSCORES, then ZCOUNT above the
// first row; the ranks of the others follow from it.
func (w *Worker) doFindByOrder(op *ranking.Op) (ranking.Reply, error) {
	w.start, w.stop = op.Start, op.Start+int64(op.Count)-1
	w.page.SetErr(nil)
	if err := w.backend.read(w.ctx, w.page); err != nil {
		return ranking.Reply{}, err
	}
	page := w.page.Val()
	if len(page) < op.Count {
		return ranking.Reply{Rows: len(page)}, errMissing
	}
	above, err := w.countAbove(page[0].Score)
	if err != nil {
		return ranking.Reply{}, err
	}
	w.rows = w.rows[:0]
	for _, z := range page {
		w.rows = append(w.rows, z.Score)
	}
	w.ranks = ranking.Ranks(w.ranks, w.rows, op.Start, above)
	return ranking.Reply{Score: page[0].Score, Rank: w.ranks[0], Rows: len(page), Found: true}, nil
}
