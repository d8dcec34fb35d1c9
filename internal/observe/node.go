package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one address that is asked. Only the goroutine that asks it touches it
// during a round, and only the round outside of it.
type node struct {
	addr     string
	seed     bool
	listed   bool          // named by the topology at the last look
	named    bool          // ever named by another node, not only a seed
	listedAt time.Duration // when last named
	runID    string        // of the server that last answered here
	oldInfo  bool          // INFO takes one section at most (Redis before 7)
	session  *session      // nil: not connected
}

// answer is what came of asking one node. Its time is when it answered, or
// when it was asked if it did not.
type answer struct {
	addr string
	at   time.Duration
	role role
	info map[string]string
	view []member // CLUSTER NODES; nil if not asked for or refused
	err  error
}

// ask sends one pipeline and reads the replies. After a failure the connection
// is closed, and the next round dials anew: also after an error reply, since a
// client that could not log in has given its connection up.
func (n *node) ask(ctx context.Context, o Options, now func() time.Duration, view bool) answer {
	asked := now()
	a, err := n.query(ctx, o, view)
	if isSyntaxError(err) && !n.oldInfo {
		n.oldInfo = true
		a, err = n.query(ctx, o, view)
	}
	if err != nil {
		_ = n.hangUp() // err says why; closing what has failed has nothing to add
		return answer{addr: n.addr, at: asked, err: err}
	}
	a.addr, a.at = n.addr, now()
	n.runID = a.info["run_id"]
	return a
}

func (n *node) query(ctx context.Context, o Options, view bool) (answer, error) {
	if err := n.connect(ctx, o); err != nil {
		return answer{}, err
	}
	p := n.session.client.Pipeline()
	roleCmd := p.Do(ctx, "role")
	infoCmd := p.Do(ctx, n.infoArgs()...)
	var viewCmd *redis.Cmd
	if view {
		viewCmd = p.Do(ctx, "cluster", "nodes")
	}
	if _, err := p.Exec(ctx); err != nil && !refusedView(viewCmd, err) {
		return answer{}, err
	}
	return readAnswer(n.addr, roleCmd, infoCmd, viewCmd)
}

// refusedView says whether err, the first of a pipeline, is only that the server
// refused CLUSTER NODES: one that is no cluster or is loading has answered all the same.
func refusedView(viewCmd *redis.Cmd, err error) bool {
	return viewCmd != nil && isReply(err) && errors.Is(err, viewCmd.Err())
}

func readAnswer(addr string, roleCmd, infoCmd, viewCmd *redis.Cmd) (a answer, err error) {
	reply, err := roleCmd.Slice()
	if err != nil {
		return a, err
	}
	if a.role, err = parseRole(reply); err != nil {
		return a, err
	}
	text, err := infoCmd.Text()
	if err != nil {
		return a, err
	}
	a.info = parseInfo(text)
	if viewCmd != nil && viewCmd.Err() == nil {
		a.view = parseClusterNodes(fmt.Sprint(viewCmd.Val()), addr)
	}
	return a, nil
}

// infoArgs names the sections that are read. A list of them is new in Redis 7;
// before that it is one section or all, where all leaves out only modules.
func (n *node) infoArgs() []any {
	if n.oldInfo {
		return []any{"info", "all"}
	}
	return []any{"info", "server", "clients", "memory", "persistence", "stats", "replication", "cpu", "commandstats"}
}

func (n *node) connect(ctx context.Context, o Options) (err error) {
	if n.session == nil {
		n.session, err = dial(ctx, n.addr, o)
	}
	return err
}

func (n *node) hangUp() error {
	if n.session == nil {
		return nil
	}
	s := n.session
	n.session = nil
	return s.close()
}

// isReply says whether err is an error reply of the server.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func isSyntaxError(err error) bool {
	return isReply(err) && strings.Contains(err.Error(), "syntax error")
}
