package observe

import (
	"math"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/result"
)

// parseInfo reads the reply to INFO: lines "name:value" ended by CRLF, section
// titles beginning with #. What has no colon is left out; a name that comes
// twice keeps its last value.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := cutField(line); ok {
			fields[name] = value
		}
	}
	return fields
}

// cutField splits at the first colon, but a command's statistics at the one
// before calls=, since the name of a module's command may hold colons.
func cutField(line string) (name, value string, ok bool) {
	if strings.HasPrefix(line, "#") {
		return "", "", false
	}
	if strings.HasPrefix(line, commandPrefix) {
		if i := strings.LastIndex(line, ":calls="); i > 0 {
			return line[:i], line[i+1:], true
		}
	}
	return strings.Cut(line, ":")
}

// fillInfo sets the figures of a sample that INFO gives.
//
// NetInBytes and NetOutBytes are total_net_input_bytes and
// total_net_output_bytes, which include the stream of replication on every
// version: Redis 7 counts it apart (total_net_repl_*) and adds it into the
// totals, Redis 6 never told the two apart. Clients include the observer's own
// connection and, on a replica, its primary's. A replica's commands include
// those that its primary replicates to it.
func fillInfo(s *result.NodeSample, info map[string]string) {
	s.RunID = info["run_id"]
	s.CPUSeconds = micros(float(info["used_cpu_sys"]) + float(info["used_cpu_user"]))
	s.EngineCPUSeconds = micros(float(info["used_cpu_sys_main_thread"]) + float(info["used_cpu_user_main_thread"]))
	s.NetInBytes = unsigned(info["total_net_input_bytes"])
	s.NetOutBytes = unsigned(info["total_net_output_bytes"])
	s.Hits = unsigned(info["keyspace_hits"])
	s.Misses = unsigned(info["keyspace_misses"])
	s.UsedMemory = unsigned(info["used_memory"])
	s.Clients = unsigned(info["connected_clients"])
	fillReplication(s, info)
	fillCommands(s, info)
}

func fillReplication(s *result.NodeSample, info map[string]string) {
	if s.Role != "replica" {
		s.ReplOffset = signed(info["master_repl_offset"])
		return
	}
	// While a replica takes a full copy its offset is -1 or that of its old data; it has nothing yet.
	s.ReplOffset = max(0, signed(info["slave_repl_offset"]))
	s.Link = info["master_link_status"]
	s.LagSeconds = max(0, signed(info["master_last_io_seconds_ago"])) // -1 while the link is down
}

const commandPrefix = "cmdstat_"

func fillCommands(s *result.NodeSample, info map[string]string) {
	s.Commands, s.Rejected, s.Failed = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for field, stats := range info {
		name, ok := strings.CutPrefix(field, commandPrefix)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		put(s.Commands, name, stat(stats, "calls"))
		put(s.Rejected, name, stat(stats, "rejected_calls"))
		put(s.Failed, name, stat(stats, "failed_calls"))
	}
}

func put(counts map[string]uint64, name string, n uint64) {
	if n > 0 {
		counts[name] = n
	}
}

// stat reads one figure of "calls=1,usec=4,usec_per_call=4.00,rejected_calls=0,failed_calls=0".
func stat(stats, name string) uint64 {
	for pair := range strings.SplitSeq(stats, ",") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return unsigned(value)
		}
	}
	return 0
}

// micros rounds to microseconds, in which INFO tells CPU time.
func micros(s float64) float64 { return math.Round(s*1e6) / 1e6 }

// What a server does not say, or says in another form, counts as 0: a figure
// that is missing on one version must not hide the others.

func unsigned(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func signed(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func float(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f || f < 0 || f > 1e15 {
		return 0
	}
	return f
}
