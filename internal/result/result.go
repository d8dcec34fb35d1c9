// Package result is the document of a run: plain, versioned data, and the
// reader and crash-safe writer of the folder that holds it. It is a leaf: it
// knows nothing of Redis, of clocks, or of how the data came about, and every
// report is made from the folder alone.
//
//	run.json          Run: versions, scenario, effective config, host, seed, clock, start
//	intervals.ndjson  Interval: one line a second, appended as it happens
//	events.ndjson     Event: every event as it came
//	summary.json      Summary: derived from the above, and can be derived again
//
// All times are seconds since the run's start on the monotonic clock, named
// _s; buckets are 10 ms wide and numbered from the start.
package result

import "time"

// Version is the version of the folder's format; a reader refuses a newer one.
const Version = 1

// BucketWidth is the resolution of successes and failures over time.
const BucketWidth = 10 * time.Millisecond

// Run is run.json: what was run, on what, against what. It holds no secret.
type Run struct {
	Version   int               `json:"version"`
	Command   string            `json:"command"`   // load, drill …
	Scenario  string            `json:"scenario"`  // its name
	Source    string            `json:"source"`    // the scenario as it was run, overrides applied, YAML
	Config    map[string]any    `json:"config"`    // effective target and driver settings, without secrets
	ReadFrom  string            `json:"read_from"` // replica, random, nearest, primary
	Local     bool              `json:"local"`     // servers on the same host as the load
	Phases    []RunPhase        `json:"phases"`    // as planned
	Limits    []RunLimit        `json:"limits,omitempty"`
	Versions  map[string]string `json:"versions"` // rankbench, go, go-redis, server
	Host      Host              `json:"host"`
	Seed      uint64            `json:"seed"`
	Started   time.Time         `json:"started"` // wall clock of offset 0
	Clock     string            `json:"clock"`   // what the offsets are measured with
	IntervalS float64           `json:"interval_s"`
	// OutageThresholdS is the shortest gap between successes that is an outage, seconds.
	OutageThresholdS float64  `json:"outage_threshold_s"`
	Warnings         []string `json:"warnings,omitempty"` // known before the load began
}

// RunPhase is a phase as planned; Ops are the names of its operations in order,
// Rates those of the open loops, operations a second by operation.
type RunPhase struct {
	Name      string             `json:"name"`
	WarmupS   float64            `json:"warmup_s"`
	DurationS float64            `json:"duration_s"`
	Ops       []string           `json:"ops"`
	Rates     map[string]float64 `json:"rates,omitempty"`
}

// RunLimit is a bound the run must meet. Op is empty for a bound on the run.
type RunLimit struct {
	Op     string  `json:"op,omitempty"`
	Metric string  `json:"metric"` // p50, p90, p99, p999, max, outage, errors, unsent, rps, client_bottleneck
	Want   float64 `json:"want"`   // seconds, a count, or operations a second; at most, rps at least
}

// Host is the machine the load came from.
type Host struct {
	Name     string `json:"name"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Kernel   string `json:"kernel,omitempty"`
	CPU      string `json:"cpu,omitempty"`
	CPUs     int    `json:"cpus"`      // logical processors
	MaxProcs int    `json:"max_procs"` // GOMAXPROCS
	MemBytes uint64 `json:"mem_bytes,omitempty"`
}

// Interval is a line of intervals.ndjson: what was seen from one offset to the
// next. The sum over all lines is the whole run. A line belongs to one phase;
// Phase is -1 between phases.
type Interval struct {
	FromS float64        `json:"from_s"`
	ToS   float64        `json:"to_s"`
	Phase int            `json:"phase"`
	Cells []Cell         `json:"cells,omitempty"`
	Nodes []NodeSample   `json:"nodes,omitempty"`
	Probe []ProbeCell    `json:"probe,omitempty"` // by an independent client, beside the load
	Self  *SelfSample    `json:"self,omitempty"`
	Mark  *PhaseBoundary `json:"mark,omitempty"`
	End   *RunEnd        `json:"end,omitempty"` // on the last line
}

// RunEnd says how the run ended; a folder without one is a killed run's.
type RunEnd struct {
	Interrupted bool     `json:"interrupted"`
	Warnings    []string `json:"warnings,omitempty"` // found out during the run
	// FailedSteps and NotRestored are what went wrong with a drill's steps, a message each.
	FailedSteps []string `json:"failed_steps,omitempty"`
	NotRestored []string `json:"not_restored,omitempty"`
	Audit       *Audit   `json:"audit,omitempty"`
	AWSClock    *Skew    `json:"aws_clock,omitempty"`
}

// Skew is what AWS's clock was ahead of ours, from the Date of its answers: the
// truth is within ±WithinS of OffsetS. Offsets of AWS's events are by our clock.
type Skew struct {
	OffsetS float64 `json:"offset_s"`
	WithinS float64 `json:"within_s"`
}

// PhaseBoundary says that a phase begins or has ended at ToS.
type PhaseBoundary struct {
	Begin bool `json:"begin,omitempty"`
	End   bool `json:"end,omitempty"`
	// MeasuredFromS is when the measured part began or will begin (after the warm-up), ToS when it
	// ended (its planned end, or the interrupt).
	MeasuredFromS float64 `json:"measured_from_s"`
	MeasuredToS   float64 `json:"measured_to_s"`
	// Claimed is the engine's own count of operations that came due, by
	// operation, warm-up excluded: an independent check on the cells.
	Claimed map[string]uint64 `json:"claimed,omitempty"`
}

// Cell is what became of the operations of one kind that ended in the interval.
// Due = OK + Unsent + all Errors.
type Cell struct {
	Op     string             `json:"op"`
	Warmup bool               `json:"warmup,omitempty"` // due before the measured part of the phase
	OK     uint64             `json:"ok"`
	Unsent uint64             `json:"unsent,omitempty"`
	Errors map[string]Failure `json:"errors,omitempty"`
	// OKAt are the successes by 10 ms bucket of the time they were done:
	// OKAt.N[i] belongs to bucket OKAt.From+i.
	OKAt Series `json:"ok_at"`
	// UnsentAt are the unsent operations by bucket of the time they were due: pairs of bucket and count.
	UnsentAt [][2]uint64 `json:"unsent_at,omitempty"`
	// Latency and Service are histograms of successes, microseconds,
	// HdrHistogram V2 compressed base64. Latency is empty where it equals
	// Service (closed loop).
	Latency string `json:"latency,omitempty"`
	Service string `json:"service,omitempty"`
	// LatencySumUS and ServiceSumUS are exact sums, microseconds, for the means.
	LatencySumUS float64 `json:"latency_sum_us,omitempty"`
	ServiceSumUS float64 `json:"service_sum_us,omitempty"`
	// LatencyMaxUS and ServiceMaxUS are exact, microseconds.
	LatencyMaxUS float64 `json:"latency_max_us,omitempty"`
	ServiceMaxUS float64 `json:"service_max_us,omitempty"`
}

// Failure counts one error class.
type Failure struct {
	N  uint64      `json:"n"`
	At [][2]uint64 `json:"at"` // pairs of 10 ms bucket (of the time they were due) and count
}

// ProbeCell is what became of one kind of question that the independent probe
// asked in the interval. Asked = the sum of OKAt + all Errors. A write or read
// is asked only of nodes that say the slot is theirs.
type ProbeCell struct {
	// Name: write (SET on a primary), read (GET on a replica), read_primary (GET on a primary); of fresh
	// connections: connect_primary and connect_reader through these endpoints, connect through any other.
	Name   string            `json:"name"`
	OKAt   Series            `json:"ok_at"` // by bucket of the time of the answer
	Asked  uint64            `json:"asked"`
	Errors map[string]uint64 `json:"errors,omitempty"` // by class
}

// Series is a run of counts by 10 ms bucket.
type Series struct {
	From uint64   `json:"from"`
	N    []uint32 `json:"n,omitempty"`
}

// NodeSample is what one node said of itself, and what the driver did with it.
// Counters are cumulative since the server's start; RunID changes when it restarts.
type NodeSample struct {
	AtS   float64 `json:"at_s"`
	ID    string  `json:"id"`
	Addr  string  `json:"addr"`
	Up    bool    `json:"up"`              // answered in time
	Error string  `json:"error,omitempty"` // why not
	Role  string  `json:"role,omitempty"`  // primary, replica
	RunID string  `json:"run_id,omitempty"`

	CPUSeconds       float64           `json:"cpu_s,omitempty"`        // all threads, user and system
	EngineCPUSeconds float64           `json:"engine_cpu_s,omitempty"` // main thread; 0 where the server does not say
	NetInBytes       uint64            `json:"net_in_bytes,omitempty"`
	NetOutBytes      uint64            `json:"net_out_bytes,omitempty"`
	Commands         map[string]uint64 `json:"commands,omitempty"` // calls by name (INFO commandstats)
	Rejected         map[string]uint64 `json:"rejected,omitempty"` // rejected calls by name, those above 0
	Failed           map[string]uint64 `json:"failed,omitempty"`   // failed calls by name, those above 0
	Hits             uint64            `json:"keyspace_hits,omitempty"`
	Misses           uint64            `json:"keyspace_misses,omitempty"`
	UsedMemory       uint64            `json:"used_memory_bytes,omitempty"`
	Clients          uint64            `json:"connected_clients,omitempty"`
	ReplOffset       int64             `json:"repl_offset,omitempty"`
	LagBytes         int64             `json:"lag_bytes,omitempty"`    // behind its primary's offset at the same sample; replicas
	LagSeconds       int64             `json:"lag_s,omitempty"`        // since it last heard from its primary; replicas
	Link             string            `json:"link,omitempty"`         // up, down; replicas
	PrimaryAddr      string            `json:"primary_addr,omitempty"` // replicas

	Driver *DriverSample `json:"driver,omitempty"`
}

// DriverSample counts what the load's driver did on one node since the start of
// the run. In cluster mode every retry and redirect is an attempt; the client of
// a single endpoint retries within one attempt, which fails if all tries did.
type DriverSample struct {
	Attempts uint64 `json:"attempts"` // commands sent
	Errors   uint64 `json:"errors"`   // of those, the ones that failed
	Connects uint64 `json:"connects"`
}

// SelfSample is what the tool saw of itself and its host. CPUSeconds,
// GCPauses and the pool's figures are cumulative since the start of the run.
type SelfSample struct {
	AtS         float64 `json:"at_s"`
	CPUSeconds  float64 `json:"cpu_s"`
	HostCPUPct  float64 `json:"host_cpu_pct"` // of all processors, since the last sample; -1 where unknown
	RSSBytes    uint64  `json:"rss_bytes"`
	GCCycles    uint64  `json:"gc_cycles"`
	GCPauseS    float64 `json:"gc_pause_s"`
	Goroutines  int     `json:"goroutines"`
	SchedP99US  float64 `json:"sched_p99_us"`           // Go scheduler: runnable to running, since the last sample
	Pauses      []Pause `json:"pauses,omitempty"`       // stretches in which the process did not run, since the last sample
	AddedBySet  uint64  `json:"added_by_set,omitempty"` // Sets that added a member which must have been there; cumulative
	Commands    uint64  `json:"commands"`               // sent by the driver, retries counted; cumulative
	PoolWaits   uint64  `json:"pool_waits"`             // commands that waited for a connection
	PoolWaitS   float64 `json:"pool_wait_s"`            // and how long, in all
	PoolTimeout uint64  `json:"pool_timeouts"`          // gave up waiting
	Slip        string  `json:"slip,omitempty"`         // open loop: sent minus due where a worker was free; histogram, microseconds, this interval
}

// Pause is a stretch in which rankbench itself did not run.
type Pause struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
}

// Event is a line of events.ndjson: something with a time that is not load.
type Event struct {
	AtS     float64 `json:"at_s"`
	Source  string  `json:"source"` // rankbench, node, elasticache …
	Subject string  `json:"subject"`
	Message string  `json:"message"`
	Kind    string  `json:"kind,omitempty"` // what it marks, for programs; most mark nothing
}

// Kinds of events.
const (
	StepBegins    = "step_begins"
	StepRecovered = "step_recovered" // it is done, and everything is healthy again
	NewPrimary    = "new_primary"    // a shard has another primary
	NodeJoined    = "node_joined"    // the topology
	NodeLeft      = "node_left"
)
