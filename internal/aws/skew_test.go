package aws

import (
	"net/http"
	"testing"
	"time"
)

// TestTheSkewIsWithinItsBounds asks a server whose clock is known, at all parts
// of a second and with any delay.
func TestTheSkewIsWithinItsBounds(t *testing.T) {
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for _, off := range []time.Duration{0, 250 * time.Millisecond, -3 * time.Second, 7 * time.Minute} {
		c := Client{clock: &clock{}}
		if _, _, ok := c.Skew(); ok {
			t.Error("known before any answer")
		}
		for i := range 40 {
			sent := start.Add(time.Duration(i) * 5137 * time.Millisecond)
			delay := time.Duration(i%5) * 10 * time.Millisecond
			date := sent.Add(delay).Add(off).Format(http.TimeFormat) // cut to the second
			c.clock.hear(sent, sent.Add(2*delay), date)
			got, within, ok := c.Skew()
			if !ok || (got-off).Abs() > within {
				t.Fatalf("after %d answers: %v ± %v, want %v", i+1, got, within, off)
			}
		}
		if got, within, _ := c.Skew(); within > 100*time.Millisecond {
			t.Errorf("%v ± %v after 40 answers", got, within)
		}
	}
}

func TestAClockThatIsSetIsHeardOfAnew(t *testing.T) {
	c := &clock{}
	now := time.Date(2026, 11, 1, 10, 0, 0, 500e6, time.UTC)
	c.hear(now, now, now.Format(http.TimeFormat))
	c.hear(now, now, now.Add(time.Hour).Format(http.TimeFormat))
	c.hear(now, now, "not a date")
	if low, high, ok := c.bounds(); !ok || low > time.Hour || high < time.Hour {
		t.Errorf("%v to %v", low, high)
	}
}
