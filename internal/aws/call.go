package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Call is one call that changes something, for the audit log. With it, even when
// it was read back from there, Confirm can look for traces of the call.
type Call struct {
	Name       string            `json:"name"`                 // TestFailover, IncreaseReplicaCount …
	Group      string            `json:"group,omitempty"`      // "" for RebootCacheCluster, which names a node
	RequestID  string            `json:"request_id,omitempty"` // AWS's; "" if there was no answer
	At         time.Time         `json:"at"`
	Answered   time.Time         `json:"answered,omitzero"`
	Parameters map[string]string `json:"parameters"`      // by AWS's names
	Err        string            `json:"error,omitempty"` // "" = AWS has accepted it, if it has answered
}

// The names of the calls.
const (
	callTestFailover = "TestFailover"
	callIncrease     = "IncreaseReplicaCount"
	callDecrease     = "DecreaseReplicaCount"
	callShards       = "ModifyReplicationGroupShardConfiguration"
	callReboot       = "RebootCacheCluster"
)

// Ambiguous is the error of a call of which it is not known whether AWS has
// received it: the connection broke, time was up, or the answer was a server's
// error or none of AWS's. Such a call is not repeated; Confirm looks for traces.
type Ambiguous struct {
	Call Call
	Err  error
}

func (a *Ambiguous) Error() string { return a.Err.Error() + ": it may have happened all the same" }

// Unwrap returns what went wrong.
func (a *Ambiguous) Unwrap() error { return a.Err }

// Hint says what to do about it.
func (a *Ambiguous) Hint() string {
	return "Do not repeat it blindly: `rankbench events` and `rankbench describe` show whether it is under way."
}

// emptyAnswer is that of 200 without a body, which the SDK takes for success.
func emptyAnswer() error {
	return &Error{Code: CodeBadAnswer, Message: "the answer is empty", hint: hint("", CodeBadAnswer)}
}

// sender sends a call, and returns the answer's metadata and whether there was
// anything else in it.
type sender func(context.Context) (middleware.Metadata, bool, error)

// perform sends call once, what being what is done in words.
func (c *Client) perform(ctx context.Context, what string, call Call, send sender) (Call, error) {
	call.At = time.Now()
	if c.opts.Announce != nil {
		if err := c.opts.Announce(call); err != nil {
			return call, fmt.Errorf("%s: not sent: %w", what, err)
		}
	}
	s := &sending{}
	metadata, whole, err := send(withSending(ctx, s))
	call.Answered = time.Now()
	call.RequestID, _ = awsmiddleware.GetRequestIDMetadata(metadata)
	if err == nil && !whole {
		err = emptyAnswer()
	}
	if err != nil {
		err = c.explain(what, err)
		call.fail(err)
		if s.doubtful() {
			err = &Ambiguous{call, err}
			call.Err = err.Error()
		}
	}
	if c.opts.Record != nil {
		c.opts.Record(call)
	}
	return call, err
}

// fail enters why the call failed.
func (call *Call) fail(err error) {
	call.Err = err.Error()
	if e := (*Error)(nil); errors.As(err, &e) && e.RequestID != "" {
		call.RequestID = e.RequestID
	}
}
