package metrics

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func newStore() *Store { return &Store{table: table(), series: map[string]*series{}} }

// feed gives a store the answers of a node that is asked at each second of
// (from, to]: 10 ZADDs a second of 20 µs each, half a core, a connection more
// each second.
func feed(s *Store, from, to int, but func(second int) bool) {
	for n := from; n <= to; n++ {
		if but == nil || !but(n) {
			s.take("lb-001", at(float64(n-1)).Unix(), says(at(float64(n)), "run_id:a", "role:master",
				fmt.Sprint("uptime_in_seconds:", 1000+n), fmt.Sprint("connected_clients:", n),
				fmt.Sprint("used_cpu_user_main_thread:", float64(n)/2), "used_cpu_sys_main_thread:0",
				fmt.Sprintf("cmdstat_zadd:calls=%d,usec=%d", 10*n, 200*n)))
		}
		s.closeMinutes(at(float64(n)).Unix())
	}
}

func points(t *testing.T, s *Store, name string, from, to float64, period time.Duration) []Point {
	t.Helper()
	got, err := s.Points(Query{Name: name, CacheClusterID: "lb-001", From: at(from), To: at(to), Period: period})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAMinuteIsOneSample as CloudWatch has it.
func TestAMinuteIsOneSample(t *testing.T) {
	s := newStore()
	feed(s, 0, 370, nil)
	for _, tc := range []struct {
		name   string
		period time.Duration
		want   string
	}{
		{"SetTypeCmds", time.Second, "60: 10/10/10/1, 61: 10/10/10/1"},
		{"SetTypeCmds", 30 * time.Second, "60: 300/10/10/30"},
		{"SetTypeCmds", time.Minute, "60: 600/600/600/1"},
		{"SetTypeCmdsLatency", time.Second, "60: 20/20/20/1, 61: 20/20/20/1"},
		{"SetTypeCmdsLatency", time.Minute, "60: 20/20/20/1"},
		{"EngineCPUUtilization", 5 * time.Second, "60: 250/50/50/5"},
		{"EngineCPUUtilization", time.Minute, "60: 50/50/50/1"},
		{"CurrConnections", time.Second, "60: 61/61/61/1, 61: 62/62/62/1"},
		{"CurrConnections", time.Minute, "60: 120/120/120/1"},
		{"IsMaster", time.Minute, "60: 1/1/1/1"},
	} {
		if got := show(points(t, s, tc.name, 60, 62, tc.period)); got != tc.want {
			t.Errorf("%s in %v: %s, want %s", tc.name, tc.period, got, tc.want)
		}
	}
	five := points(t, s, "SetTypeCmds", 0, 600, 5*time.Minute)
	if show(five) != "0: 3000/600/600/5, 300: 600/600/600/1" || five[0].Average() != 600 {
		t.Errorf("five minutes: %s", show(five))
	}
}

func TestAMinuteIsThereWhenItIsOver(t *testing.T) {
	s := newStore()
	feed(s, 0, 119, nil)
	if got := show(points(t, s, "SetTypeCmds", 0, 600, time.Minute)); got != "0: 600/600/600/1" {
		t.Errorf("at 12:01:59: %s", got)
	}
	feed(s, 120, 120, nil)
	if got := show(points(t, s, "SetTypeCmds", 0, 600, time.Minute)); got != "0: 600/600/600/1, 60: 600/600/600/1" {
		t.Errorf("at 12:02:00: %s", got)
	}
}

// TestANodeThatDoesNotAnswerHasNoPoint: not for 12:00:20 to 12:00:29, and not for
// all of the third minute. What it counted meanwhile is not lost.
func TestANodeThatDoesNotAnswerHasNoPoint(t *testing.T) {
	s := newStore()
	feed(s, 0, 240, func(n int) bool { return n > 20 && n <= 30 || n > 120 && n <= 180 })
	if got := show(points(t, s, "CurrConnections", 18, 32, time.Second)); got != "18: 19/19/19/1, 19: 20/20/20/1, 30: 31/31/31/1, 31: 32/32/32/1" {
		t.Errorf("seconds: %s", got)
	}
	if got := show(points(t, s, "SetTypeCmds", 29, 32, time.Second)); got != "30: 110/110/110/1, 31: 10/10/10/1" {
		t.Errorf("after the gap: %s", got)
	}
	if got := show(points(t, s, "EngineCPUUtilization", 29, 31, time.Second)); got != "30: 50/50/50/1" {
		t.Errorf("after the gap: %s", got)
	}
	if got := show(points(t, s, "SetTypeCmds", 0, 600, time.Minute)); got != "0: 600/600/600/1, 60: 600/600/600/1, 180: 1200/1200/1200/1" {
		t.Errorf("minutes: %s", got)
	}
}

func TestSeveralAnswersOfASecondAreOneSample(t *testing.T) {
	s := newStore()
	for i, calls := range []int{0, 3, 7} {
		s.take("lb-001", at(0).Unix(), says(at(float64(i)/4), "run_id:a", "role:master",
			fmt.Sprintf("cmdstat_zadd:calls=%d,usec=0", calls), fmt.Sprint("connected_clients:", i)))
	}
	if got := show(points(t, s, "SetTypeCmds", 0, 2, time.Second)); got != "0: 7/7/7/1" {
		t.Error(got)
	}
	if got := show(points(t, s, "CurrConnections", 0, 2, time.Second)); got != "0: 2/2/2/1" {
		t.Error(got)
	}
}

func TestSecondsAreKeptForThreeHoursAndMinutesForFifteenDays(t *testing.T) {
	s := newStore()
	const hours = 4
	feed(s, 0, hours*3600, nil)
	if got := points(t, s, "SetTypeCmds", 0, 1e6, time.Second); len(got) < keptSeconds || len(got) > keptSeconds+2*pageRows {
		t.Errorf("%d seconds", len(got))
	}
	if got := points(t, s, "SetTypeCmds", 0, 1e6, time.Minute); len(got) != hours*60 {
		t.Errorf("%d minutes", len(got))
	}
	s.closeMinutes(at(15 * 24 * 3600).Unix())
	if got := s.Metrics(); len(got) == 0 {
		t.Error("forgotten after 15 days")
	}
	s.closeMinutes(at(16 * 24 * 3600).Unix())
	if got := s.Metrics(); len(got) != 0 {
		t.Errorf("%d metrics after 16 days", len(got))
	}
}

func TestMetricsListsWhatHasAValue(t *testing.T) {
	s := newStore()
	s.take("b", 1, says(at(0), "role:master", "connected_clients:1"))
	s.take("a", 1, says(at(0), "role:slave", "master_link_status:down"))
	var got []string
	for _, m := range s.Metrics() {
		if !m.NodeDimension {
			t.Errorf("%+v", m)
		}
		got = append(got, m.CacheClusterID+" "+m.Name)
	}
	const want = "[a CurrItems a IsMaster a MasterLinkHealthStatus b CurrConnections b CurrItems b IsMaster]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestWhatNobodyKnowsHasNoPoints(t *testing.T) {
	s := newStore()
	feed(s, 0, 100, nil)
	for _, q := range []Query{
		{Name: "CPUUtilization", CacheClusterID: "lb-001"}, {Name: "SetTypeCmds", CacheClusterID: "lb-002"},
		{Name: "CacheHitRate", CacheClusterID: "lb-001"},
	} {
		q.From, q.To, q.Period = at(0), at(100), time.Second
		if got, err := s.Points(q); err != nil || len(got) > 0 {
			t.Errorf("%+v: %v, %v", q, got, err)
		}
	}
	if _, err := s.Points(Query{Name: "SetTypeCmds", CacheClusterID: "lb-001", Period: 2 * time.Second}); err == nil {
		t.Error("a period of 2 s is taken")
	}
}

func TestHitRateIsThatOfTheTotals(t *testing.T) {
	s := newStore()
	hit, miss := 0, 0
	for n := range 62 {
		hit, miss = hit+n%2*30, miss+(1-n%2)*10 // one second 30 hits, the next 10 misses
		s.take("lb-001", at(float64(n-1)).Unix(), says(at(float64(n)), "run_id:a", fmt.Sprint("keyspace_hits:", hit), fmt.Sprint("keyspace_misses:", miss)))
		s.closeMinutes(at(float64(n)).Unix())
	}
	if got := show(points(t, s, "CacheHitRate", 0, 2, time.Second)); got != "0: 100/100/100/1, 1: 0/0/0/1" {
		t.Errorf("seconds: %s", got)
	}
	if got := show(points(t, s, "CacheHitRate", 0, 60, time.Minute)); got != "0: 75/75/75/1" {
		t.Errorf("minute: %s", got)
	}
	empty := emptyRow()
	empty[hits], empty[misses] = 0, 0
	if got := hitRate(&empty); !math.IsNaN(got) {
		t.Errorf("without a lookup it is %v", got)
	}
}
