package action

import (
	"context"
	"errors"
	"slices"

	"github.com/rankbench/rankbench/internal/aws"
)

// refusal is a step that ElastiCache is to refuse: with the answer to the call, or
// with an event after it has accepted it.
type refusal struct {
	Action
	note    func(format string, a ...any)
	refused bool // by the answer: there is nothing to settle
}

// errNotRefused is the failure of such a step.
var errNotRefused = errors.New("was to be refused, and was done")

// refusals are the codes of answers that are about what is asked for (ElastiCache's
// API reference), and not about the moment, the caller or the account.
var refusals = []string{"InvalidParameterValue", "InvalidParameterCombination", "NoOperationFault", "TestFailoverNotAvailableFault"}

func (r *refusal) Start(ctx context.Context) error {
	err := r.Action.Start(ctx)
	if slices.Contains(refusals, aws.Code(err)) {
		r.note("refused, as expected: %v", err)
		r.refused = true
		return nil
	}
	return err
}

func (r *refusal) Settle(ctx context.Context) error {
	if r.refused {
		return nil
	}
	err := r.Action.Settle(ctx)
	switch {
	case err == nil:
		return errNotRefused
	case errors.As(err, new(errRefused)):
		r.note("refused, as expected")
		return nil
	}
	return err
}
