package plan

import (
	"math"
	"time"
)

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

// Due returns the offset of operation n. The product is exact up to n of some
// billions, so only the division and the rate itself (0.1 is no binary number)
// are rounded: one step up makes good for both, since an offset that should be
// whole may come out a step below, and would be cut to the nanosecond before.
// The comparison is made before the conversion, which is undefined beyond 292 years.
func (r Rate) Due(n uint64) (time.Duration, bool) {
	at := math.Nextafter(float64(n)*float64(time.Second)/r.PerSecond, math.Inf(1))
	if at >= float64(r.For) {
		return r.For, false
	}
	return time.Duration(at), true
}
