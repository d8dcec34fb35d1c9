package plan

import "time"

// Schedule says when operation n of an open loop is due, as an offset from the
// start of its phase. It is a pure function, safe for concurrent use; Due
// never decreases with n. ok is false from the first n that is not due any more.
type Schedule interface {
	Due(n uint64) (at time.Duration, ok bool)
}

// Rate is a constant rate: operation n is due at n/PerSecond.
type Rate struct {
	PerSecond float64
	For       time.Duration
}

var _ Schedule = Rate{}

// Due returns the offset of operation n. A float64 holds the nanoseconds of
// 104 days exactly, and the division rounds monotonically.
func (r Rate) Due(n uint64) (time.Duration, bool) {
	at := time.Duration(float64(n) / r.PerSecond * float64(time.Second))
	return at, at < r.For
}
