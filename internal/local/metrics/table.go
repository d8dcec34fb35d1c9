package metrics

import "math"

// metric is how the value of a sample follows from its row.
type metric struct {
	name string
	of   func(*row) float64 // NaN where there is no value
}

// table lists the metrics with their units. The definitions are AWS's: "Metrics
// for Valkey and Redis OSS" and "Host-Level Metrics" of the ElastiCache User
// Guide (CacheMetrics.Redis, CacheMetrics.HostLevel). CPUUtilization is not here:
// it is the host's.
func table() []metric {
	return []metric{
		// Percent of one core, of "the engine thread": used_cpu_user_main_thread and used_cpu_sys_main_thread.
		{"EngineCPUUtilization", ratio(cpuSeconds, elapsedSeconds, 100)},
		// Bytes that the host reads from and writes to the network, replication among them.
		{"NetworkBytesIn", plain(netIn)},
		{"NetworkBytesOut", plain(netOut)},
		// Count: sums of calls in INFO commandstats; the lists are in commands.go.
		{"GetTypeCmds", plain(getCalls)},
		{"SetTypeCmds", plain(setCalls)},
		{"SortedSetBasedCmds", plain(sortedSetCalls)},
		{"HashBasedCmds", plain(hashCalls)},
		{"StringBasedCmds", plain(stringCalls)},
		{"KeyBasedCmds", plain(keyCalls)},
		// Microseconds: delta(usec)/delta(calls). Without a call there is no value.
		{"GetTypeCmdsLatency", ratio(getMicros, getCalls, 1)},
		{"SetTypeCmdsLatency", ratio(setMicros, setCalls, 1)},
		{"SortedSetBasedCmdsLatency", ratio(sortedSetMicros, sortedSetCalls, 1)},
		{"HashBasedCmdsLatency", ratio(hashMicros, hashCalls, 1)},
		{"StringBasedCmdsLatency", ratio(stringMicros, stringCalls, 1)},
		{"KeyBasedCmdsLatency", ratio(keyMicros, keyCalls, 1)},
		// Count: keyspace_hits and keyspace_misses.
		{"CacheHits", plain(hits)},
		{"CacheMisses", plain(misses)},
		// Percent: hits/(hits+misses). Without a lookup there is no value.
		{"CacheHitRate", hitRate},
		// Seconds; replicas only. AWS does not say how it is measured; here it is master_last_io_seconds_ago.
		{"ReplicationLag", plain(lagSeconds)},
		// Bytes that the primary sends to its replicas: master_repl_offset.
		{"ReplicationBytes", plain(replicated)},
		// 1 or 0; replicas only. AWS documents it for the migration from EC2 alone, where the node is a replica, too.
		{"MasterLinkHealthStatus", plain(linkUp)},
		// 1 is a primary, 0 is not.
		{"IsMaster", plain(isPrimary)},
		// Count: connected_clients, which has no replicas in it; total_connections_received.
		{"CurrConnections", plain(connections)},
		{"NewConnections", plain(newConnections)},
		// Count: evicted_keys; expired_keys; the keys of all databases.
		{"Evictions", plain(evicted)},
		{"Reclaimed", plain(expired)},
		{"CurrItems", plain(items)},
		// Bytes: used_memory.
		{"BytesUsedForCache", plain(usedBytes)},
		// Percent: used_memory/maxmemory. Without a maxmemory there is no value.
		{"DatabaseMemoryUsagePercentage", plain(usedPercent)},
	}
}

func plain(c column) func(*row) float64 { return func(r *row) float64 { return r[c] } }

func ratio(of, by column, factor float64) func(*row) float64 {
	return func(r *row) float64 { return quotient(r[of]*factor, r[by]) }
}

func hitRate(r *row) float64 { return quotient(100*r[hits], r[hits]+r[misses]) }

func quotient(of, by float64) float64 {
	if by == 0 {
		return math.NaN()
	}
	return of / by
}
