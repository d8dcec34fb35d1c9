package plan

import (
	"fmt"
	"math/big"
	"testing"
	"testing/quick"
	"time"
)

// dueCount is the number of operations a schedule has, found by halving: ok
// never comes back once it is false (TestDueNeverDecreases).
func dueCount(s Schedule) uint64 {
	from, to := uint64(0), uint64(1)<<50
	for from < to {
		mid := (from + to) / 2
		if _, ok := s.Due(mid); ok {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// wantCount is ceil(rate * duration) in exact arithmetic, of the rate as it is written.
func wantCount(t *testing.T, rate string, d time.Duration) uint64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(rate)
	if !ok {
		t.Fatalf("no rate: %s", rate)
	}
	r.Mul(r, big.NewRat(int64(d), int64(time.Second)))
	n, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	return n.Uint64()
}

func rateOf(t *testing.T, rate string) float64 {
	t.Helper()
	var f float64
	if _, err := fmt.Sscan(rate, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestExactlyRateTimesDurationOperationsAreDue(t *testing.T) {
	durations := []time.Duration{
		time.Nanosecond, time.Millisecond, 10 * time.Millisecond, 290 * time.Millisecond, 999 * time.Millisecond, time.Second,
		time.Second + time.Nanosecond, 2010 * time.Millisecond, 10 * time.Second, 70 * time.Second, 12 * time.Minute, 24 * time.Hour,
	}
	for _, rate := range []string{
		"0.001", "0.01", "0.1", "0.3", "1", "2.5", "3", "7", "33.3", "49", "99.9", "100", "300", "333.3", "1000", "1234.5", "5000", "24512.3", "1000000", "10000000",
	} {
		t.Run(rate, func(t *testing.T) {
			for _, d := range durations {
				s := Rate{PerSecond: rateOf(t, rate), For: d}
				if got, want := dueCount(s), wantCount(t, rate, d); got != want {
					t.Errorf("%d operations are due in %v, want %d", got, d, want)
				}
			}
		})
	}
}

func TestWholeRatesGiveWholeCountsForEveryDuration(t *testing.T) {
	for rate := 1; rate <= 2000; rate += 3 {
		for d := 10 * time.Millisecond; d < 3*time.Second; d += 50 * time.Millisecond {
			s := Rate{PerSecond: float64(rate), For: d}
			want := (uint64(rate)*uint64(d.Milliseconds()) + 999) / 1000
			_, last := s.Due(want - 1)
			if at, ok := s.Due(want); ok || !last {
				t.Fatalf("%d/s for %v: operation %d of %d is due at %v (%v), the last before: %v", rate, d, want, want, at, ok, last)
			}
		}
	}
}

func TestDueNeverDecreases(t *testing.T) {
	check := func(rate float64, seconds uint16, n uint64) bool {
		s := Rate{PerSecond: rate, For: time.Duration(seconds) * time.Second}
		n %= max(dueCount(s), 1)
		before, okBefore := s.Due(n)
		after, okAfter := s.Due(n + 1)
		return after >= before && before >= 0 && (okBefore || !okAfter) && (!okAfter || after < s.For)
	}
	// Rates of every magnitude.
	for exp := -3; exp <= 7; exp++ {
		scaled := func(mantissa uint32, seconds uint16, n uint64) bool {
			rate := 1 + 9*float64(mantissa)/(1<<32)
			for range max(exp, -exp) {
				if exp > 0 {
					rate *= 10
				} else {
					rate /= 10
				}
			}
			return check(rate, seconds, n)
		}
		if err := quick.Check(scaled, nil); err != nil {
			t.Errorf("rate of 1e%d: %v", exp, err)
		}
	}
}

func TestDueTimesAreEvenlySpaced(t *testing.T) {
	s := Rate{PerSecond: 1000, For: time.Minute}
	for _, n := range []uint64{0, 1, 2, 999, 1000, 59_999} {
		if at, ok := s.Due(n); !ok || at != time.Duration(n)*time.Millisecond {
			t.Errorf("operation %d is due at %v (%v)", n, at, ok)
		}
	}
}

func TestRateSoLowThatTheSecondOperationIsBeyondAllTime(t *testing.T) {
	s := Rate{PerSecond: 1e-300, For: time.Hour}
	if at, ok := s.Due(0); !ok || at != 0 {
		t.Errorf("the first is due at %v (%v)", at, ok)
	}
	if at, ok := s.Due(1); ok {
		t.Errorf("the second is due at %v", at)
	}
}

func TestScheduleThatIsOverStaysOver(t *testing.T) {
	s := Rate{PerSecond: 1e7, For: time.Second}
	for _, n := range []uint64{1e7, 1e12, 1 << 53, 1 << 63, 1<<64 - 1} {
		if at, ok := s.Due(n); ok {
			t.Errorf("operation %d is due at %v", n, at)
		}
	}
}
