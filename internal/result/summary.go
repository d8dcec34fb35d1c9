package result

import "time"

// Summary is summary.json. Its keys are a contract with whoever reads it.
// Where a figure does not apply it is absent, never 0.
type Summary struct {
	Version     int       `json:"version"`
	Scenario    string    `json:"scenario"`
	Started     time.Time `json:"started"`
	DurationS   float64   `json:"duration_s"`
	Interrupted bool      `json:"interrupted"`
	Complete    bool      `json:"complete"` // false: the run was killed, and these are its intervals up to then
	Phases      []Phase   `json:"phases"`
	Outages     []Outage  `json:"outages"`
	// ServiceOutages, Levels and Stretches are those of a drill.
	ServiceOutages []ServiceOutage  `json:"service_outages,omitempty"`
	Levels         map[string]Level `json:"levels,omitempty"`
	Stretches      []Stretch        `json:"stretches,omitempty"`

	Audit       *Audit   `json:"audit,omitempty"`
	FailedSteps []string `json:"failed_steps,omitempty"`
	NotRestored []string `json:"not_restored,omitempty"`
	AWSClock    *Skew    `json:"aws_clock,omitempty"`

	Nodes    []Node   `json:"nodes"`
	Client   Client   `json:"client"`
	Events   []Event  `json:"events"`
	Limits   []Limit  `json:"limits"`
	Verdict  string   `json:"verdict"` // pass, fail, none (no limits), incomplete (met as far as can be told)
	Warnings []string `json:"warnings"`
}

// Phase is one phase of load, warm-up excluded: the operations that were due
// from FromS to ToS.
type Phase struct {
	Name      string               `json:"name"`
	FromS     float64              `json:"from_s"`
	ToS       float64              `json:"to_s"`
	Ops       map[string]OpSummary `json:"ops"`
	Nodes     []Node               `json:"nodes"`
	WarmupOps map[string]OpSummary `json:"warmup_ops,omitempty"`
}

// OpSummary is what became of one kind of operation. Due = OK + Unsent + the
// sum of Errors, exactly. RPS counts successes only, over the phase's length.
type OpSummary struct {
	Due       uint64            `json:"due"`
	OK        uint64            `json:"ok"`
	Unsent    uint64            `json:"unsent"`
	Errors    map[string]uint64 `json:"errors"`
	RPS       float64           `json:"rps"`
	LatencyUS Quantiles         `json:"latency_us"` // of successes, from due where no worker was free, else from sent
	ServiceUS Quantiles         `json:"service_us"` // of successes, from sent
}

// Quantiles are in microseconds; all 0 where there was no success.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Outage is a gap between successes of one operation that is longer than the
// run's threshold. Errors are those of the operations that were due in it.
type Outage struct {
	Op        string  `json:"op"`
	Phase     string  `json:"phase"`
	FromS     float64 `json:"from_s"`
	ToS       float64 `json:"to_s"`
	DurationS float64 `json:"duration_s"`
	Open      bool    `json:"open,omitempty"`     // had not ended when the phase did
	PausedS   float64 `json:"paused_s,omitempty"` // of it, rankbench itself did not run: not the service's
	// ServiceS is how much of it the service could not serve, as the independent probe saw; ClientS is
	// the rest but for PausedS: what the client cost on top. Absent without a probe.
	ServiceS *float64          `json:"service_s,omitempty"`
	ClientS  *float64          `json:"client_s,omitempty"`
	Errors   map[string]uint64 `json:"errors"`
	Unsent   uint64            `json:"unsent"`
}

// ServiceOutage is a gap between answers to the independent probe that is longer
// than the run's threshold: no node took a write, or no node that reads go to
// answered one. DurationS is without PausedS.
type ServiceOutage struct {
	What      string  `json:"what"` // write, read
	FromS     float64 `json:"from_s"`
	ToS       float64 `json:"to_s"`
	DurationS float64 `json:"duration_s"`
	Open      bool    `json:"open,omitempty"`
	PausedS   float64 `json:"paused_s,omitempty"`
}

// Level is what one operation reached before a drill's first step, in its
// degraded state, and after everything was healthy again.
type Level struct {
	BaselineRPS *float64 `json:"baseline_rps,omitempty"`
	DegradedRPS *float64 `json:"degraded_rps,omitempty"`
	RestoredRPS *float64 `json:"restored_rps,omitempty"`
	BackToP99S  *float64 `json:"back_to_p99_s,omitempty"` // from the first step on, until p99 is the baseline's again
	// BelowHalfS is how long, from the first step on, fewer than half as many succeeded as in the baseline;
	// ErrorsAbove1PctS, how long more than 1 % failed or were not sent. Both are whole windows of WindowS
	// seconds: at least 0.1, as long as 100 operations take in the baseline, and so long that the baseline
	// itself never fell below half.
	BelowHalfS       *float64 `json:"below_half_s,omitempty"`
	ErrorsAbove1PctS *float64 `json:"errors_above_1pct_s,omitempty"`
	WindowS          *float64 `json:"window_s,omitempty"`
}

// Stretch is a part of a drill: baseline, alone (the promoted primary alone),
// during (a step without another primary), between (two steps), restored.
type Stretch struct {
	Name  string               `json:"name"`
	Step  int                  `json:"step,omitempty"` // counted from 1
	FromS float64              `json:"from_s"`
	ToS   float64              `json:"to_s"`
	Ops   map[string]StretchOp `json:"ops"`
	Nodes []Node               `json:"nodes"`
}

// StretchOp is one operation in a stretch; latencies are those of the seconds
// that lie wholly in it, absent where there are none.
type StretchOp struct {
	RPS    *float64 `json:"rps,omitempty"` // absent in less than a second
	Failed uint64   `json:"failed"`        // errors and unsent
	P50US  *float64 `json:"p50_us,omitempty"`
	P99US  *float64 `json:"p99_us,omitempty"`
}

// Node is one server over a stretch of time. Commands are the server's own
// counts of what clients sent; Replicated the writes that a replica took over
// from its primary, which the server counts alike. Driver is what the load's
// driver did with it. Figures by time are absent where the node did not answer
// at two moments that are half a second apart.
type Node struct {
	ID                string            `json:"id"`
	Addr              string            `json:"addr"`
	Roles             []RoleSpan        `json:"roles"`
	Commands          map[string]uint64 `json:"commands"`
	Replicated        map[string]uint64 `json:"replicated,omitempty"`
	CPUPct            *float64          `json:"cpu_pct,omitempty"`        // of one processor, all threads
	EngineCPUPct      *float64          `json:"engine_cpu_pct,omitempty"` // of one processor, main thread
	NetInBytesPerMin  *float64          `json:"net_in_bytes_per_min,omitempty"`
	NetOutBytesPerMin *float64          `json:"net_out_bytes_per_min,omitempty"`
	UsedMemoryBytes   uint64            `json:"used_memory_bytes"`
	MaxLagBytes       int64             `json:"max_lag_bytes"`
	LinkDownS         float64           `json:"link_down_s"` // replica without its primary
	UnreachableS      float64           `json:"unreachable_s"`
	Restarts          int               `json:"restarts"`
	Driver            *DriverSample     `json:"driver,omitempty"`
	// FirstReadS is, of a node of the whole run that joined during it, between which offsets it served its
	// first read of the load; ReadSharePct, its part of all reads after that. LastReadS is, of one that left
	// while the load ran, between which offsets it served its last.
	FirstReadS   *[2]float64 `json:"first_read_s,omitempty"`
	ReadSharePct *float64    `json:"read_share_pct,omitempty"`
	LastReadS    *[2]float64 `json:"last_read_s,omitempty"`
}

// RoleSpan says which role a node had from an offset on: primary, replica or unreachable.
type RoleSpan struct {
	FromS float64 `json:"from_s"`
	Role  string  `json:"role"`
}

// Client is the tool's view of itself over the measured phases.
type Client struct {
	CPUPct          float64 `json:"cpu_pct"`      // of one processor
	HostCPUPct      float64 `json:"host_cpu_pct"` // of all processors; -1 where unknown
	CPUUSPerCommand float64 `json:"cpu_us_per_command"`
	Commands        uint64  `json:"commands"` // sent by the driver (see DriverSample), warm-up included
	RSSBytes        uint64  `json:"rss_bytes"`
	GCCycles        uint64  `json:"gc_cycles"`
	GCPauseS        float64 `json:"gc_pause_s"`
	SchedUSP99      float64 `json:"sched_us_p99"`
	SlipUSP99       float64 `json:"slip_us_p99"`
	PoolWaits       uint64  `json:"pool_waits"`
	PoolWaitS       float64 `json:"pool_wait_s"`
	PoolTimeouts    uint64  `json:"pool_timeouts"`
	Pauses          int     `json:"pauses"`       // how often rankbench itself did not run for 0.1 s or longer
	PausedS         float64 `json:"paused_s"`     // and how long in all
	AddedBySet      uint64  `json:"added_by_set"` // Sets that added a member which must have been there
	Bottleneck      bool    `json:"bottleneck"`
	Reason          string  `json:"bottleneck_reason,omitempty"`
}

// Limit is a bound and what became of it.
type Limit struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
	// Unknown: the run has not seen enough to tell, which is not OK; Got says why.
	Unknown bool `json:"unknown,omitempty"`
}
