package target

import (
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rankbench/rankbench/internal/config"
)

// Settings of the profiles but driver-defaults, which leaves every option of
// go-redis alone: the measurements behind them are that the
// driver's defaults cost up to 50 s on top of an 8 s failover, and these at
// most one. ReadTimeout is above any latency of a server that is merely busy.
const (
	tunedReload      = time.Second // ClusterStateReloadInterval; 60 s by default
	tunedDialTimeout = 500 * time.Millisecond
	tunedTimeout     = time.Second // read, write, pool
	tunedMaxBackoff  = 200 * time.Millisecond
	tunedFailing     = 2 // seconds
	// Without a lifetime a reader endpoint's connections stay where they were
	// first made: on a demoted node for ever, and never on a new replica.
	tunedLifetime = time.Minute
)

// Need says what the load asks of the driver's pools.
type Need struct {
	Workers     int // most operations in flight
	FindWorkers int // of those, the most that use pipelines
}

func clusterOptions(cfg *config.Config, need Need, tc *tls.Config) (*redis.ClusterOptions, error) {
	o := &redis.ClusterOptions{Addrs: cfg.Target.Addresses, TLSConfig: tc}
	readFrom(o, cfg.Client.ReadFrom)
	if cfg.Client.Profile != config.DriverDefaults {
		tuneCluster(o, need)
	}
	if cfg.Client.Profile == config.Raw {
		o.MaxRedirects = -1
	}
	if err := setOptions(o, cfg.Client.Options); err != nil {
		return nil, err
	}
	o.Dialer = dialOf(cfg, tc, o.DialTimeout)
	return o, nil
}

func readFrom(o *redis.ClusterOptions, from string) {
	switch from {
	case config.Replica:
		o.ReadOnly = true
	case config.Random:
		o.RouteRandomly = true
	case config.Nearest:
		o.RouteByLatency = true
	}
}

func tuneCluster(o *redis.ClusterOptions, need Need) {
	o.ClusterStateReloadInterval = tunedReload
	o.MinRetryBackoff, o.MaxRetryBackoff = 10*time.Millisecond, tunedMaxBackoff
	o.DialTimeout, o.DialerRetries = tunedDialTimeout, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = tunedTimeout, tunedTimeout, tunedTimeout
	o.FailingTimeoutSeconds = tunedFailing
	o.PoolSize, o.PipelinePoolSize = need.Workers, max(need.FindWorkers, 1)
	o.ConnMaxIdleTime = -1
	o.DisableIdentity, o.DisableRoutingPolicies = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.ReadOnly && !o.RouteRandomly && !o.RouteByLatency {
		o.ShardPicker = &scatterPicker{}
	}
}

func singleOptions(cfg *config.Config, addr string, need Need, tc *tls.Config) (*redis.Options, error) {
	o := &redis.Options{Addr: addr, TLSConfig: tc}
	if cfg.Client.Profile != config.DriverDefaults {
		tuneSingle(o, need)
	}
	if cfg.Client.Profile == config.Raw {
		o.MaxRetries = -1
	}
	if err := setOptions(o, cfg.Client.Options); err != nil {
		return nil, err
	}
	o.Dialer = dialOf(cfg, tc, o.DialTimeout)
	return o, nil
}

func tuneSingle(o *redis.Options, need Need) {
	o.MinRetryBackoff, o.MaxRetryBackoff = 10*time.Millisecond, tunedMaxBackoff
	o.DialTimeout, o.DialerRetries = tunedDialTimeout, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = tunedTimeout, tunedTimeout, tunedTimeout
	o.PoolSize, o.PipelinePoolSize = need.Workers, max(need.FindWorkers, 1)
	o.ConnMaxIdleTime, o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = -1, tunedLifetime, tunedLifetime/10
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// scatterPicker spreads reads over the replicas without a pattern. The
// driver's round robin advances once a command, so that with one worker and
// two replicas one of them serves every ZSCORE and the other every ZCOUNT.
type scatterPicker struct{ n atomic.Uint64 }

// Next returns a number below total (the interface of ShardPicker).
func (p *scatterPicker) Next(total int) int {
	if total <= 1 {
		return 0
	}
	z := p.n.Add(1) * 0x9e3779b97f4a7c15 // Fibonacci hashing: the high bits are well mixed
	z = (z ^ z>>32) * 0xbf58476d1ce4e5b9
	return int((z >> 33) % uint64(total))
}
