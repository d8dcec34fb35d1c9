package target

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/ranking"
)

// TestARedirectedCommandMayBeAppliedThoughItsPipelineFailed: what servers answer
// to ASKING and the command, which is hard to make real ones say.
func TestARedirectedCommandMayBeAppliedThoughItsPipelineFailed(t *testing.T) {
	ask, refused, lost := errors.New("ASK"), errors.New("NOPERM"), errors.New("EOF")
	for name, tc := range map[string]struct {
		kind            ranking.Kind
		asking, command error // theirs when the pipeline has returned
		pipeline        error
		failed          int
		known           bool
	}{
		"applied":             {ranking.Set, nil, nil, nil, 0, true},
		"refused":             {ranking.Set, nil, refused, refused, 1, true},
		"only ASKING refused": {ranking.Set, refused, nil, refused, 1, false},
		"both refused":        {ranking.Set, refused, refused, refused, 1, true},
		"connection lost, with the ASK still there": {ranking.Set, lost, ask, lost, 1, true},
		"of a Find, which is not followed":          {ranking.Find, nil, lost, lost, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &opContext{Context: t.Context()}
			o.failed = []error{errors.New("of the last operation")}
			o.begin(tc.kind)
			asking, command := redis.NewCmd(o, "asking"), redis.NewIntCmd(o, "zadd", "key", "1", "member")
			run := nodeHook{&nodeStats{}}.ProcessPipelineHook(func(context.Context, []redis.Cmder) error {
				asking.SetErr(tc.asking)
				command.SetErr(tc.command)
				return tc.pipeline
			})
			if err := run(o, []redis.Cmder{asking, command}); !errors.Is(err, tc.pipeline) {
				t.Errorf("the hook made %v of %v", err, tc.pipeline)
			}
			if len(o.failed) != tc.failed || o.unknown == tc.known || tc.failed > 0 && !errors.Is(o.failed[0], tc.pipeline) {
				t.Errorf("failed %v, known %v", o.failed, !o.unknown)
			}
		})
	}
}

// TestAHandshakeIsNoAttempt: it comes with the context of the operation that
// needs the connection.
func TestAHandshakeIsNoAttempt(t *testing.T) {
	o, refused := &opContext{Context: t.Context()}, errors.New("ERR unknown subcommand 'setinfo'")
	h := nodeHook{&nodeStats{}}
	err := h.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return refused })(o, []redis.Cmder{redis.NewCmd(o, "client", "setinfo")})
	if err := errors.Join(err, h.ProcessHook(func(context.Context, redis.Cmder) error { return refused })(o, redis.NewCmd(o, "hello"))); err == nil {
		t.Error("the hook swallowed an error")
	}
	if len(o.failed) > 0 || o.unknown {
		t.Errorf("failed %v, unknown %v", o.failed, o.unknown)
	}
}
