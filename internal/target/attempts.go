package target

import (
	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/ranking"
)

// attempts is what the hooks saw of one worker's operation. It matters for a
// Set: whether one that failed, or an earlier attempt of one that succeeded,
// may have been applied. Read in go-redis 9.23:
//
//   - In a cluster every attempt is a call of one node's client (ClusterClient.
//     process, osscluster.go:1501), in the worker's goroutine and with the
//     worker's context: retries, MOVED, READONLY, a LOADING node, a client that
//     was closed. The hook is that client's outermost, set before anybody has
//     the node. So all that can be sent is seen.
//   - After ASK the command goes in a pipeline behind ASKING; see redirected.
//   - What fails between the attempts sends nothing: no topology yet, a slot
//     without a node, the address of a redirect, the end of the context during
//     a backoff. Such an error is the operation's and no attempt's.
//   - What fails within an attempt before the command is sent is its error, as
//     the driver gives it: a dial's has a net.OpError whose Op is "dial", also
//     where the pool only repeats its last one; a pool timeout; a handshake's.
//   - A node's own client may try again, too, behind its hook: see
//     backend.transparent.
type attempts struct {
	failed  []error // in order; used again
	unknown bool    // more was done than failed tells
}

// begin forgets the last operation. A Find's pipelines are run by the driver
// node by node at the same time, and only reads: they are not followed.
func (a *attempts) begin(kind ranking.Kind) {
	a.failed = a.failed[:0]
	a.unknown = kind == ranking.Find
}

// redirected notes a pipeline of ASKING and one command, which failed with err.
// Its error is the first one: the command may have been applied where only
// ASKING was refused. The command's own error alone is no help: the driver
// leaves ASK, the last attempt's, in place where the connection fails.
func (a *attempts) redirected(cmds []redis.Cmder, err error) {
	if a.unknown {
		return // not even read further: the parts of a Find come here at once
	}
	a.failed = append(a.failed, err)
	for _, c := range cmds {
		if ofRanking(c) && c.Err() == nil {
			a.unknown = true
		}
	}
}

// Attempts returns the errors of the attempts of the last Do that failed, in
// order, that of Do among them if it is one's; they hold until the next Do. If
// known, there was no other attempt but the last one where Do succeeded, so that
// nothing else of the operation was sent. It is not known for a Find, and where
// a client tries again by itself: for single endpoints always, but with
// max_retries -1.
func (w *Worker) Attempts() (failed []error, known bool) {
	return w.ctx.failed, w.backend.transparent() && !w.ctx.unknown
}
