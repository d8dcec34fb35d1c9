package metrics

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// at is a time of one day: 12:00:00 + seconds.
func at(seconds float64) time.Time {
	return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// show writes points as "start: sum/min/max/count", start in seconds after 12:00:00.
func show(points []Point) string {
	var out []string
	for _, p := range points {
		out = append(out, fmt.Sprintf("%v: %v/%v/%v/%v", p.Start.Sub(at(0)).Seconds(), p.Sum, p.Minimum, p.Maximum, p.SampleCount))
	}
	return strings.Join(out, ", ")
}

// TestPeriodsAreAlignedToTheEpoch: there is one sample a second from 12:00:03 to
// 12:01:12, whose value is the number of the second, without the seconds 7 to 21.
func TestPeriodsAreAlignedToTheEpoch(t *testing.T) {
	zero := at(0).Unix()
	sample := func(slot int64) float64 {
		if n := slot - zero; n >= 3 && n <= 72 && (n < 7 || n > 21) {
			return float64(n)
		}
		return math.NaN()
	}
	for name, tc := range map[string]struct {
		from, to float64
		period   time.Duration
		want     string
	}{
		"seconds":                          {3, 6, 1e9, "3: 3/3/3/1, 4: 4/4/4/1, 5: 5/5/5/1"},
		"To is excluded":                   {3, 4, 1e9, "3: 3/3/3/1"},
		"nothing between From and From":    {4, 4, 1e9, ""},
		"To before From":                   {6, 3, 1e9, ""},
		"From within a second":             {3.001, 5, 1e9, "4: 4/4/4/1"},
		"To within a second":               {3, 4.001, 1e9, "3: 3/3/3/1, 4: 4/4/4/1"},
		"a gap has no points":              {6, 23, 1e9, "6: 6/6/6/1, 22: 22/22/22/1"},
		"5 s, its first in part":           {0, 10, 5e9, "0: 7/3/4/2, 5: 11/5/6/2"},
		"5 s, begun before From":           {1, 10, 5e9, "5: 11/5/6/2"},
		"5 s, ends after To":               {0, 6, 5e9, "0: 7/3/4/2, 5: 11/5/6/2"},
		"5 s, a period within the gap":     {5, 25, 5e9, "5: 11/5/6/2, 20: 69/22/24/3"},
		"10 s":                             {20, 40, 10e9, "20: 204/22/29/8, 30: 345/30/39/10"},
		"30 s":                             {-300, 300, 30e9, "0: 222/3/29/12, 30: 1335/30/59/30, 60: 858/60/72/13"},
		"before everything":                {-100, 3, 1e9, ""},
		"after everything":                 {73, 1000, 1e9, ""},
		"a period that holds all, aligned": {-3600, 3600, 3600e9, "0: 2415/3/72/55"},
	} {
		t.Run(name, func(t *testing.T) {
			q := Query{From: at(tc.from), To: at(tc.to), Period: tc.period}
			if got := show(fold(q, time.Second, zero, zero+100, sample)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAQueryWithoutBoundsIsAnswered(t *testing.T) {
	sample := func(slot int64) float64 { return 1 }
	q := Query{To: at(1e9), Period: time.Minute}
	if got := fold(q, time.Second, at(0).Unix(), at(60).Unix(), sample); show(got) != "0: 60/1/1/60" {
		t.Errorf("%s", show(got))
	}
	if got := fold(q, time.Second, 0, 0, sample); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// A period far longer than what is kept costs no more than what is kept.
func TestALongPeriodCostsNoMore(t *testing.T) {
	asked, first := 0, at(0).Unix()
	sample := func(slot int64) float64 { asked++; return 1 }
	q := Query{To: at(1e9), Period: time.Duration(first/60*60) * time.Second}
	if got := fold(q, time.Second, first, first+60, sample); len(got) != 1 || got[0].SampleCount != 60 || asked != 60 {
		t.Errorf("%d samples were asked for: %v", asked, got)
	}
}

func TestPeriodsAreCloudWatchs(t *testing.T) {
	for _, good := range []time.Duration{1e9, 5e9, 10e9, 20e9, 30e9, time.Minute, 3 * time.Minute, time.Hour, 24 * time.Hour} {
		if err := (Query{Period: good}).check(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []time.Duration{0, -time.Minute, 1, 2e9, 15e9, 60, 90 * time.Second, time.Minute + 1} {
		if err := (Query{Period: bad}).check(); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestARingKeepsTheLatest(t *testing.T) {
	r := newRing(keptSeconds)
	start := at(0).Unix()
	value := func(n int64) *row {
		x := emptyRow()
		x[items] = float64(n)
		return &x
	}
	for n := range int64(5 * keptSeconds / 2) {
		r.add(start+n, value(n))
	}
	last := int64(5*keptSeconds/2 - 1)
	for n := last; n > last-keptSeconds; n-- {
		if got := r.at(start + n); got == nil || got[items] != float64(n) {
			t.Fatalf("%d is %v", n, got)
		}
	}
	if got := r.at(start); got != nil {
		t.Errorf("the first is still there: %v", got)
	}
	r.add(start, value(0))
	if r.at(start) != nil || r.at(-1) != nil {
		t.Error("what has gone came back")
	}
	first, end := r.bounds()
	if first > start+last-keptSeconds+1 || end <= start+last || end-first > keptSeconds+pageRows {
		t.Errorf("bounds %d … %d after %d", first-start, end-start, last)
	}
}

func TestAGapCostsNoMemory(t *testing.T) {
	r := newRing(keptMinutes)
	x := emptyRow()
	r.add(1, &x)
	r.add(keptMinutes, &x)
	pages := 0
	for _, p := range r.pages {
		if p != nil {
			pages++
		}
	}
	if pages != 2 {
		t.Errorf("%d pages", pages)
	}
}
