package scenario

import "time"

// The types of this file mirror a scenario file, key by key. A nil pointer is
// a key that is not given.

type file struct {
	Name            string         `yaml:"name,required"`
	About           string         `yaml:"about"`
	Seed            *uint64        `yaml:"seed"`
	Ranking         rankingKeys    `yaml:"ranking,required"`
	Topology        *topologyKeys  `yaml:"topology"`
	OutageThreshold *time.Duration `yaml:"outage_threshold"`
	ErrorPause      *time.Duration `yaml:"error_pause"`
	Phases          []phaseKeys    `yaml:"phases,required"`
	Drill           *drillKeys     `yaml:"drill"`
	Audit           *bool          `yaml:"audit"`
	Limits          limitKeys      `yaml:"limits"`
}

type rankingKeys struct {
	Key          *string `yaml:"key"`
	Members      *int64  `yaml:"members,required"`
	ScoreSpread  *int64  `yaml:"score_spread"`
	MemberFormat *string `yaml:"member_format"`
	Order        *string `yaml:"order"`
}

type topologyKeys struct {
	Shards   *int `yaml:"shards"`
	Replicas *int `yaml:"replicas,required"`

	ClusterMode *string `yaml:"cluster_mode"`
}

type phaseKeys struct {
	Name     string         `yaml:"name"`
	Warmup   time.Duration  `yaml:"warmup"`
	Duration *time.Duration `yaml:"duration,required"`
	Ops      opsKeys        `yaml:"ops,required"`
}

type opsKeys struct {
	Set         *memberKeys `yaml:"set"`
	Get         *memberKeys `yaml:"get"`
	Find        *findKeys   `yaml:"find"`
	FindByOrder *pageKeys   `yaml:"find_by_order"`
}

type loadKeys struct {
	Workers  *int           `yaml:"workers"`
	Rate     *float64       `yaml:"rate"`
	Patience *time.Duration `yaml:"patience"`
}

type memberKeys struct {
	loadKeys
	Zipf *float64 `yaml:"zipf"`
}

type findKeys struct {
	memberKeys
	Members *int `yaml:"members"`
}

type pageKeys struct {
	loadKeys
	Rows *int `yaml:"rows"`
}

type limitKeys struct {
	Set              *opLimitKeys `yaml:"set"`
	Get              *opLimitKeys `yaml:"get"`
	Find             *opLimitKeys `yaml:"find"`
	FindByOrder      *opLimitKeys `yaml:"find_by_order"`
	LostWrites       *uint64      `yaml:"lost_writes"`
	ClientBottleneck *string      `yaml:"client_bottleneck"`
}

type opLimitKeys struct {
	P50    *time.Duration `yaml:"p50"`
	P90    *time.Duration `yaml:"p90"`
	P99    *time.Duration `yaml:"p99"`
	P999   *time.Duration `yaml:"p999"`
	Max    *time.Duration `yaml:"max"`
	Outage *time.Duration `yaml:"outage"`
	Errors *uint64        `yaml:"errors"`
	Unsent *uint64        `yaml:"unsent"`
	RPS    *float64       `yaml:"rps"`
}
