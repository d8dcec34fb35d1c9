package target

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/ranking"
)

// finder holds the commands of Find: n ZSCOREs and n ZCOUNTs.
type finder struct {
	members []string // arguments of scores
	bounds  []string // arguments of counts, views of bound
	bound   []byte
	scores  []redis.Cmder
	counts  []redis.Cmder
	failed  bool // the commands may hold errors of their last use
}

// grow makes commands for n members; their arguments point into slices that
// are never moved afterwards.
func (f *finder) grow(ctx *opContext, key string, n int) {
	if n == len(f.scores) {
		return
	}
	f.members, f.bounds = make([]string, n), make([]string, n)
	f.scores, f.counts = make([]redis.Cmder, n), make([]redis.Cmder, n)
	for i := range n {
		f.scores[i] = redis.NewFloatCmd(ctx, "zscore", key, &f.members[i])
		f.counts[i] = redis.NewIntCmd(ctx, "zcount", key, &f.bounds[i], "+inf")
		f.scores[i].SetFirstKeyPos(1)
		f.counts[i].SetFirstKeyPos(1)
	}
}

// doFind: the ZSCOREs of all members in one pipeline, then their ZCOUNTs in
// one pipeline, both on one node: the driver would spread the commands of a
// pipeline over all replicas, which makes two round trips of one and more than
// doubles the client's cost.
func (w *Worker) doFind(op *ranking.Op) (ranking.Reply, error) {
	w.find.grow(w.ctx, w.key, op.Count)
	copy(w.find.members, op.Members)
	node, err := w.backend.pin(w.ctx)
	if err != nil {
		return ranking.Reply{}, err
	}
	if err := w.runPinned(node, w.find.scores); err != nil {
		return ranking.Reply{}, err
	}
	w.find.setBounds()
	if err := w.runPinned(node, w.find.counts); err != nil {
		return ranking.Reply{}, err
	}
	return w.find.reply(), nil
}

// setBounds turns the scores found into the arguments of the counts.
func (f *finder) setBounds() {
	f.bound = f.bound[:0]
	for i, c := range f.scores {
		from := len(f.bound)
		f.bound = AppendBound(f.bound, c.(*redis.FloatCmd).Val())
		f.bounds[i] = ranking.View(f.bound[from:])
	}
}

func (f *finder) reply() ranking.Reply {
	return ranking.Reply{
		Score: f.scores[0].(*redis.FloatCmd).Val(),
		Rank:  f.counts[0].(*redis.IntCmd).Val() + 1,
		Rows:  len(f.counts),
		Found: true,
	}
}

// runPinned sends the commands to one node. A node's own client follows no
// redirect, retries nothing and marks no node as failing; so after an error
// that the driver would have tried again, the commands go through the driver's
// own pipeline, which does all that.
func (w *Worker) runPinned(node pinned, cmds []redis.Cmder) error {
	err := w.exec(node.Pipeline(), cmds)
	if err == nil || errors.Is(err, errMissing) || !w.backend.retries() {
		return err
	}
	return w.exec(w.backend.readPipeline(), cmds)
}

// exec sends the commands in one pipeline and returns the first error, since
// an operation of which a part failed has failed.
func (w *Worker) exec(p redis.Pipeliner, cmds []redis.Cmder) error {
	if w.find.failed {
		w.find.clear() // on some paths the driver leaves an old error in place
	}
	if err := p.BatchProcess(w.ctx, cmds...); err != nil {
		return err
	}
	_, err := p.Exec(w.ctx)
	if err == nil { // the driver has looked at every command
		return nil
	}
	w.find.failed = true
	if first := firstError(cmds); first != nil {
		return first
	}
	return err
}

func (f *finder) clear() {
	f.failed = false
	for i := range f.scores {
		f.scores[i].SetErr(nil)
		f.counts[i].SetErr(nil)
	}
}

// firstError prefers a real failure to a missing member.
func firstError(cmds []redis.Cmder) error {
	var missing error
	for _, c := range cmds {
		switch err := c.Err(); {
		case err == nil:
		case errors.Is(err, redis.Nil):
			missing = errMissing
		default:
			return err
		}
	}
	return missing
}
