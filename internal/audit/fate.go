package audit

import (
	"errors"
	"net"

	"github.com/rankbench/rankbench/internal/load"
)

// fate is what is known of a Set when Do has returned: bits.
type fate uint8

const (
	untouched    fate = 0 // certainly not applied, and never will be
	acknowledged fate = 1 // answered
	unknown      fate = 2 // it, or an attempt of it, may be applied: now, later, or never
)

// Attempter is a target that knows of every attempt of its driver.
//
// A driver that tries again within one Do may end with an error that a server
// gives before it applies anything, after an attempt that was applied and
// whose answer got lost. So without an Attempter every failed Set is of
// unknown fate, whatever its class. With one, a Set was certainly not applied
// if no attempt was, and an acknowledged one may have left an attempt behind.
type Attempter interface {
	load.Target
	// Attempts returns the errors of all failed attempts of the last Do, that
	// which Do returned among them or not. known is false where the driver
	// tries again out of sight. What it returns holds until the next Do.
	Attempts() (failed []error, known bool)
}

// fateOf is the fate of a Set whose Do returned err.
//
// It is assumed that an acknowledged Set has left no attempt behind that is
// applied after a later Set was acknowledged, where there is no Attempter to
// know better: else every score ever sent would be possible. If it happens
// nevertheless, it counts as lost.
func (w *worker) fateOf(err error) fate {
	is := untouched
	if err == nil {
		is = acknowledged
		if w.attempter == nil {
			return is
		}
	}
	failed, known := w.attempts()
	if err != nil && !known {
		return unknown
	}
	if err != nil && w.mayHaveApplied(err) {
		is |= unknown
	}
	for _, e := range failed {
		if w.mayHaveApplied(e) {
			is |= unknown
		}
	}
	return is
}

func (w *worker) attempts() (failed []error, known bool) {
	if w.attempter == nil {
		return nil, false
	}
	return w.attempter.Attempts()
}

// mayHaveApplied says whether an attempt that ended so may have been applied.
// It was not where nothing was sent (no connection, no name, no handshake) and
// where the server refuses a command before it runs it.
func (w *worker) mayHaveApplied(err error) bool {
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		return false // refused, or not answered in time
	}
	switch w.classify(err) {
	case load.ReadOnly, load.Moved, load.ClusterDown, load.Loading, load.Auth, load.OOM, load.PoolTimeout, load.DNS, load.TLS:
		return false
	case load.Refused:
		// A host that becomes unreachable breaks connections, too, with a
		// command on its way.
		return errors.As(err, new(*net.OpError))
	default:
		return true
	}
}
