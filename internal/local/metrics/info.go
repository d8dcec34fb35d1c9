package metrics

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// look is one answer of a node: counters as they stand, gauges as they are.
type look struct {
	at     time.Time
	server float64 // its own clock in seconds; NaN before Redis 7
	runID  string
	uptime time.Duration
	figure row // elapsedSeconds is left out
}

// reader reads the text of INFO. It does not change after it was made.
type reader struct{ columns map[string][]column }

// read takes what a node said at a time. What a version does not say is NaN.
func (rd reader) read(text string, at time.Time) look {
	fields := map[string]string{}
	l := look{at: at, figure: emptyRow()}
	for c := getCalls; c <= keyMicros; c++ {
		l.figure[c] = 0 // a command that was never called has no line
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if command, is := strings.CutPrefix(name, "cmdstat_"); is {
			rd.command(&l.figure, command, value)
		} else if ok {
			fields[name] = value
		}
	}
	l.fill(fields)
	return l
}

// command adds "calls=12,usec=34,…" to the columns of the command's classes.
func (rd reader) command(r *row, name, stats string) {
	columns := rd.columns[name]
	if columns == nil {
		return
	}
	calls, micros := stat(stats, "calls"), stat(stats, "usec")
	for _, c := range columns {
		r[c] += calls
		r[c+1] += micros
	}
}

func stat(stats, name string) float64 {
	for pair := range strings.SplitSeq(stats, ",") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return number(value)
		}
	}
	return 0
}

func (l *look) fill(f map[string]string) {
	l.runID = f["run_id"]
	l.server = number(f["server_time_usec"]) / 1e6
	if up := number(f["uptime_in_seconds"]); !math.IsNaN(up) {
		l.uptime = time.Duration(up) * time.Second
	}
	for c, name := range map[column]string{
		hits: "keyspace_hits", misses: "keyspace_misses", newConnections: "total_connections_received",
		evicted: "evicted_keys", expired: "expired_keys", connections: "connected_clients", usedBytes: "used_memory",
		// With replication in them: Redis 7 counts it apart (total_net_repl_*) and adds it in, older ones never told it apart.
		netIn: "total_net_input_bytes", netOut: "total_net_output_bytes",
	} {
		l.figure[c] = number(f[name])
	}
	l.figure[cpuSeconds] = cpu(f)
	l.figure[items] = keys(f)
	if limit := number(f["maxmemory"]); limit > 0 {
		l.figure[usedPercent] = 100 * l.figure[usedBytes] / limit
	}
	l.fillRole(f)
}

// fillRole fills in what only the one or the other role has.
func (l *look) fillRole(f map[string]string) {
	if f["role"] == "master" {
		l.figure[isPrimary] = 1
		l.figure[replicated] = number(f["master_repl_offset"])
		return
	}
	l.figure[isPrimary], l.figure[linkUp] = 0, 0
	last := "master_link_down_since_seconds" // -1: the link has never been up
	if f["master_link_status"] == "up" {
		last, l.figure[linkUp] = "master_last_io_seconds_ago", 1
	}
	if ago := number(f[last]); ago >= 0 {
		l.figure[lagSeconds] = ago
	}
}

// cpu is the main thread's time where the server tells it (Redis 6.2), else the process's.
func cpu(f map[string]string) float64 {
	if main := number(f["used_cpu_user_main_thread"]) + number(f["used_cpu_sys_main_thread"]); !math.IsNaN(main) {
		return main
	}
	return number(f["used_cpu_user"]) + number(f["used_cpu_sys"])
}

// keys adds up lines such as db0:keys=1,expires=0,avg_ttl=0; an empty database has none.
func keys(f map[string]string) float64 {
	var sum float64
	for name, value := range f {
		if _, err := strconv.Atoi(strings.TrimPrefix(name, "db")); err == nil && strings.HasPrefix(value, "keys=") {
			sum += stat(value, "keys")
		}
	}
	return sum
}

func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// since is the row of the time between two answers: counters as far as they
// went, gauges as they are now. Without an answer before there are no counters.
func (l *look) since(before *look) row {
	r := l.figure
	base, known := l.base(before)
	for c := range counters {
		switch {
		case !known:
			r[c] = math.NaN()
		case r[c] >= base[c]:
			r[c] -= base[c]
		case r[c] < base[c]: // CONFIG RESETSTAT: what it says now is since then
		default:
			r[c] = math.NaN() // one of the two is
		}
	}
	if known {
		r[elapsedSeconds] = l.elapsed(before)
	}
	return r
}

// base is what the counters are counted from: what the same process said before,
// or nothing where the process has only begun since.
func (l *look) base(before *look) (base row, known bool) {
	switch {
	case before == nil:
		return base, false
	case before.runID == l.runID && l.uptime >= before.uptime:
		return before.figure, true
	default:
		return base, l.uptime <= l.at.Sub(before.at)+time.Second // uptime is in full seconds
	}
}

// elapsed is the time that the counters are of. It prefers the server's clock:
// between its answer and its arrival here some time may pass on a busy machine.
// A process that has begun since was up for a part of it only, in full seconds.
func (l *look) elapsed(before *look) float64 {
	between := l.at.Sub(before.at)
	if before.runID != l.runID {
		return min(between, max(l.uptime, time.Second)).Seconds()
	}
	if d := l.server - before.server; d > 0 {
		return d
	}
	return between.Seconds()
}
