package aws

import (
	"net/http"
	"sync"
	"time"
)

// clock compares AWS's clock with ours. An answer's Date is cut to the second
// and was written between our sending and our receiving; so AWS's clock minus
// ours is at least Date-received and less than Date+1s-sent. Each answer
// narrows that.
type clock struct {
	mu        sync.Mutex
	low, high time.Duration
	known     bool
}

// hear takes in the Date of an answer.
func (c *clock) hear(sent, received time.Time, date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	low, high := at.Sub(received), at.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && low <= c.high && high >= c.low {
		low, high = max(low, c.low), min(high, c.high)
	} // else one of the clocks was set or has drifted: what was known is void
	c.low, c.high, c.known = low, high, true
}

func (c *clock) bounds() (low, high time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.low, c.high, c.known
}

// largestSkew is beyond what AWS accepts of a signature's time.
const largestSkew = 15 * time.Minute

// earliest is the earliest that AWS's clock may have shown at our time t.
func (c *clock) earliest(t time.Time) time.Time {
	low, _, ok := c.bounds()
	if !ok {
		low = -largestSkew
	}
	return t.Add(low)
}

// latest is the latest that AWS's clock may have shown at our time t.
func (c *clock) latest(t time.Time) time.Time {
	_, high, ok := c.bounds()
	if !ok {
		high = largestSkew
	}
	return t.Add(high)
}

// Skew returns AWS's clock minus ours, which is within ± of offset, from the
// Date of all answers so far. It is not ok before the first answer. One answer
// gives ±0.5 s and the time it took; more narrow it to some milliseconds.
func (c *Client) Skew() (offset, within time.Duration, ok bool) {
	low, high, ok := c.clock.bounds()
	return (low + high) / 2, (high - low) / 2, ok
}
