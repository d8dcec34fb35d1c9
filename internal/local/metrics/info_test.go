package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// says is a node's answer, made of lines of INFO.
func says(when time.Time, lines ...string) *look {
	l := reader{commandColumns()}.read(strings.Join(lines, "\r\n"), when)
	return &l
}

// TestWhatACounterWent: two answers ten seconds apart, and CacheHits between them.
func TestWhatACounterWent(t *testing.T) {
	nan := math.NaN()
	for name, tc := range map[string]struct {
		before, after string
		want          float64
	}{
		"it goes up":                   {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:a uptime_in_seconds:110 keyspace_hits:12", 7},
		"it stays":                     {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:a uptime_in_seconds:110 keyspace_hits:5", 0},
		"its statistics were reset":    {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:a uptime_in_seconds:110 keyspace_hits:3", 3},
		"restarted since":              {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:b uptime_in_seconds:2 keyspace_hits:3", 3},
		"restarted, has more by now":   {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:b uptime_in_seconds:2 keyspace_hits:8", 8},
		"uptime fell, no run_id":       {"uptime_in_seconds:100 keyspace_hits:5", "uptime_in_seconds:2 keyspace_hits:8", 8},
		"another server, long running": {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:b uptime_in_seconds:900 keyspace_hits:8000", nan},
		"never heard of before":        {"", "run_id:a uptime_in_seconds:2 keyspace_hits:8", nan},
		"no longer told":               {"run_id:a uptime_in_seconds:100 keyspace_hits:5", "run_id:a uptime_in_seconds:110", nan},
		"not told before":              {"run_id:a uptime_in_seconds:100", "run_id:a uptime_in_seconds:110 keyspace_hits:5", nan},
	} {
		t.Run(name, func(t *testing.T) {
			var before *look
			if tc.before != "" {
				before = says(at(0), strings.Fields(tc.before)...)
			}
			r := says(at(10), strings.Fields(tc.after)...).since(before)
			if got := r[hits]; fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// TestCountersAreOfTheTimeThatTheProcessWasUp: ten minutes apart.
func TestCountersAreOfTheTimeThatTheProcessWasUp(t *testing.T) {
	before := says(at(0), "run_id:a", "uptime_in_seconds:100", "server_time_usec:1000000000")
	for after, want := range map[string]float64{
		"run_id:a uptime_in_seconds:700 server_time_usec:1599500000": 599.5,
		"run_id:b uptime_in_seconds:50 server_time_usec:1600000000":  50,
		"run_id:b uptime_in_seconds:0 server_time_usec:1600000000":   1,
		"run_id:b uptime_in_seconds:601 server_time_usec:1600000000": 600,
	} {
		if got := says(at(600), strings.Fields(after)...).since(before)[elapsedSeconds]; got != want {
			t.Errorf("%s: %v s, want %v", after, got, want)
		}
	}
}

func TestReplicationBytesAreAPrimarysAlone(t *testing.T) {
	primary := func(second float64, offset int) *look {
		return says(at(second), "run_id:a", "role:master", fmt.Sprint("master_repl_offset:", offset))
	}
	replica := says(at(2), "run_id:a", "role:slave", "master_link_status:up", "master_last_io_seconds_ago:1", "master_repl_offset:500")
	looks := []*look{primary(0, 100), primary(1, 250), replica, primary(3, 700), primary(4, 800)}
	want := []string{"NaN", "150", "NaN", "NaN", "100"}
	var before *look
	for i, l := range looks {
		r := l.since(before)
		if got := fmt.Sprint(r[replicated]); got != want[i] {
			t.Errorf("answer %d: %s, want %s", i, got, want[i])
		}
		before = l
	}
}

func TestGaugesOfEachRole(t *testing.T) {
	for name, tc := range map[string]struct {
		info                     string
		primary, link, lag, used string
	}{
		"primary":                      {"role:master used_memory:50 maxmemory:200", "1", "NaN", "NaN", "25"},
		"replica":                      {"role:slave master_link_status:up master_last_io_seconds_ago:3 maxmemory:0", "0", "1", "3", "NaN"},
		"replica without its primary":  {"role:slave master_link_status:down master_last_io_seconds_ago:-1 master_link_down_since_seconds:8", "0", "0", "8", "NaN"},
		"replica that never had a one": {"role:slave master_link_status:down master_last_io_seconds_ago:-1 master_link_down_since_seconds:-1", "0", "0", "NaN", "NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			f := says(at(0), strings.Fields(tc.info)...).figure
			got := fmt.Sprint(f[isPrimary], f[linkUp], f[lagSeconds], f[usedPercent])
			if want := fmt.Sprint(tc.primary, " ", tc.link, " ", tc.lag, " ", tc.used); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestCPUIsTheMainThreadsWhereItIsTold(t *testing.T) {
	old := says(at(0), "used_cpu_user:3", "used_cpu_sys:1")
	both := says(at(0), "used_cpu_user:3", "used_cpu_sys:1", "used_cpu_user_main_thread:2", "used_cpu_sys_main_thread:0.5")
	if old.figure[cpuSeconds] != 4 || both.figure[cpuSeconds] != 2.5 {
		t.Errorf("%v, %v", old.figure[cpuSeconds], both.figure[cpuSeconds])
	}
}

func TestKeysOfAllDatabasesAreItems(t *testing.T) {
	l := says(at(0), "db0:keys=3,expires=0,avg_ttl=0", "db12:keys=4,expires=1,avg_ttl=9", "dbx:keys=100", "other:keys=100")
	if l.figure[items] != 7 {
		t.Error(l.figure[items])
	}
}

func TestACommandCountsInAllItsClasses(t *testing.T) {
	l := says(at(0),
		"cmdstat_zadd:calls=2,usec=20,usec_per_call=10.00,rejected_calls=9,failed_calls=9",
		"cmdstat_zscore:calls=3,usec=6,usec_per_call=2.00", "cmdstat_hget:calls=5,usec=10", "cmdstat_set:calls=7,usec=70",
		"cmdstat_object|freq:calls=11,usec=11", "cmdstat_info:calls=1000,usec=1000", "cmdstat_ping:calls=1,usec=1")
	for c, want := range map[column]float64{
		setCalls: 9, setMicros: 90, getCalls: 19, getMicros: 27, sortedSetCalls: 5, sortedSetMicros: 26,
		hashCalls: 5, hashMicros: 10, stringCalls: 7, stringMicros: 70, keyCalls: 11, keyMicros: 11,
	} {
		if got := l.figure[c]; got != want {
			t.Errorf("column %d: %v, want %v", c, got, want)
		}
	}
}

func TestTheListsOfCommandsAreSound(t *testing.T) {
	reads, writes := strings.Fields(getTypeCommands), strings.Fields(setTypeCommands)
	for _, name := range reads {
		if slices.Contains(writes, name) {
			t.Errorf("%s reads and writes", name)
		}
	}
	for title, list := range map[string]string{
		"get": getTypeCommands, "set": setTypeCommands, "sorted set": sortedSetCommands,
		"hash": hashCommands, "string": stringCommands, "key": keyCommands,
	} {
		names := strings.Fields(list)
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s: not in order, or twice the same", title)
		}
		for _, name := range names {
			if !slices.Contains(reads, name) && !slices.Contains(writes, name) {
				t.Errorf("%s: %s neither reads nor writes", title, name)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("run_id:a\r\ncmdstat_zadd:calls=1,usec=2\r\ndb0:keys=1\r\nused_memory:NaN\r\nuptime_in_seconds:1e300", "keyspace_hits:-5")
	f.Fuzz(func(t *testing.T, first, second string) {
		r := says(at(1), second).since(says(at(0), first))
		for _, m := range table() {
			if v := m.of(&r); math.IsInf(v, 0) && !strings.Contains(first+second, "e") {
				t.Errorf("%s is %v", m.name, v)
			}
		}
	})
}

// BenchmarkRead is what it costs here to read one answer and keep its row.
func BenchmarkRead(b *testing.B) {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("some_statistic_of_the_server_%d:%d", i, i*i))
	}
	for name := range strings.FieldsSeq(sortedSetCommands) {
		lines = append(lines, "cmdstat_"+name+":calls=12345,usec=67890,usec_per_call=5.50,rejected_calls=0,failed_calls=0")
	}
	text := strings.Join(lines, "\r\n")
	s := newStore()
	s.reader = reader{commandColumns()}
	b.SetBytes(int64(len(text)))
	for n := 0; b.Loop(); n++ {
		l := s.reader.read(text, at(float64(n)))
		s.take("lb-001", at(float64(n)).Unix(), &l)
	}
}
