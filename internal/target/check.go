package target

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/load"
)

// checkTimeout bounds all of Check, so that a wrong config is told in under 10 s.
const checkTimeout = 8 * time.Second

// checkStep bounds one dial, read or write of Check.
const checkStep = 2 * time.Second

// Server is what Check learned of the target.
type Server struct {
	Addr     string // the address that answered
	Version  string // such as "redis 7.0.15" or "valkey 8.1.0"
	Shards   int
	Replicas int // of the shard that holds the key
	Slot     int // of the key; -1 without cluster mode
	// Upstream is the primary's address where the address given, of a server
	// that is not clustered, is a replica's: it cannot be written to. Else "".
	Upstream string
	Warnings []string

	nodes []string // announced addresses of the shard that holds the key, primary first; cluster mode
}

// Check looks at the target without changing anything: can it be reached with
// the config's addresses and credentials, is it a cluster where the config says
// so, which shards and replicas does it have, and may the driver see that the
// reads are reads. Every error has a hint.
func Check(ctx context.Context, cfg *config.Config, key string) (Server, error) {
	quietDriver()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	tc, err := TLSConfig(cfg.Target.TLS)
	if err != nil {
		return Server{}, fail.WithHint(err, "check the files that target.tls names: PEM, readable by you")
	}
	secret, err := cfg.Target.Secret()
	if err != nil {
		return Server{}, fail.WithHint(err, "export the variable, or write the file, before you start rankbench")
	}
	rdb, info, err := connectAny(ctx, cfg, tc, secret)
	if err != nil {
		return Server{}, err
	}
	defer rdb.Close()
	s := Server{Addr: rdb.Options().Addr, Version: version(info), Slot: -1}
	if err := checkMode(cfg.Target.Mode, s.Addr, info); err != nil {
		return s, err
	}
	if err := s.readTopology(ctx, rdb, cfg.Target.Mode, key); err != nil {
		return s, err
	}
	if err := s.reach(ctx, cfg, tc, secret); err != nil {
		return s, err
	}
	s.Warnings = append(s.Warnings, checkReads(ctx, rdb, cfg)...)
	return s, checkReader(ctx, cfg, tc, secret)
}

// connectAny returns a connection to the first address that answers INFO, or
// what the last one said.
func connectAny(ctx context.Context, cfg *config.Config, tc *tls.Config, secret string) (*redis.Client, map[string]string, error) {
	addrs := cfg.Target.Addresses
	if cfg.Target.Mode == config.Endpoints {
		addrs = []string{cfg.Target.Primary}
	}
	var last error
	for _, addr := range addrs {
		rdb := plainClient(addr, cfg.Target, secret, tc)
		text, err := rdb.Info(ctx).Result()
		if err == nil {
			return rdb, parseInfo(text), nil
		}
		rdb.Close()
		last = explain(err, addr, cfg)
	}
	return nil, nil, last
}

func plainClient(addr string, t config.Target, secret string, tc *tls.Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Username: t.Username, Password: secret, TLSConfig: tc,
		Dialer:      driversDial(Resolver(t.Resolver), tc, checkStep),
		DialTimeout: checkStep, ReadTimeout: checkStep, WriteTimeout: checkStep,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// explain turns a driver's error into one line and a hint.
func explain(err error, addr string, cfg *config.Config) error {
	class := Classify(err)
	err = fmt.Errorf("connect to %s: %w", addr, err)
	switch class {
	case load.DNS:
		return fail.WithHint(err, dnsHint(cfg.Target))
	case load.Refused:
		return fail.WithHint(err, "nothing listens there: check host and port, or start a local ElastiCache with `rankbench local up`")
	case load.Timeout:
		if cfg.Target.TLS != nil {
			return fail.WithHint(err, "no answer: check the security group and the port; a server without TLS does not answer a TLS client either")
		}
		return fail.WithHint(err, "no answer: check the security group and the port; a server with in-transit encryption needs `tls: true`")
	case load.TLS:
		return fail.WithHint(err, "TLS failed: check target.tls (ca_file, server_name), and that the server has in-transit encryption")
	case load.Auth:
		return fail.WithHint(err, "the server refuses these credentials: check target.username and target.password_env or password_file")
	case load.Reset:
		return fail.WithHint(err, "the server closed the connection: does it need `tls: true`, or is it no Redis server?")
	default:
		return fail.WithHint(err, "is there a Redis or Valkey server at this address?")
	}
}

func dnsHint(t config.Target) string {
	names := "target.addresses"
	if t.Mode == config.Endpoints {
		names = "target.primary and target.reader"
	}
	if t.Resolver != "" {
		return fmt.Sprintf("the host name does not resolve at target.resolver, %s: check that a DNS server runs there, and %s", t.Resolver, names)
	}
	return fmt.Sprintf("the host name does not resolve: check %s, and that you are in the VPC of the cluster", names)
}

func version(info map[string]string) string {
	if v := info["valkey_version"]; v != "" {
		return "valkey " + v
	}
	return "redis " + info["redis_version"]
}

func checkMode(mode, addr string, info map[string]string) error {
	clustered := info["redis_mode"] == "cluster" || info["server_mode"] == "cluster"
	switch {
	case mode == config.Cluster && !clustered:
		return fail.WithHint(fmt.Errorf("connect to %s: the server is not in cluster mode, the config says it is", addr),
			"set target.mode to standalone, or to endpoints with a primary and a reader endpoint")
	case mode != config.Cluster && clustered:
		return fail.WithHint(fmt.Errorf("connect to %s: the server is in cluster mode, the config says it is not", addr),
			"set target.mode to cluster, with the configuration endpoint (or any node) in target.addresses")
	}
	return nil
}

var readCommands = []string{"zscore", "zcount", "zrevrange"}

// checkReads: the driver learns from COMMAND which commands are reads. Where
// the user may not run it, every read silently goes to the primary.
func checkReads(ctx context.Context, rdb *redis.Client, cfg *config.Config) []string {
	if cfg.Target.Mode != config.Cluster || cfg.Client.ReadFrom == config.Primary {
		return nil
	}
	const so = "every read goes to the primary and each command costs a failing COMMAND call; allow +command to the user"
	infos, err := rdb.Do(ctx, append([]any{"command", "info"}, toAny(readCommands)...)...).Slice()
	if err != nil {
		return []string{fmt.Sprintf("COMMAND is refused (%v): %s", err, so)}
	}
	if full, err := rdb.Command(ctx).Result(); err != nil {
		return []string{fmt.Sprintf("COMMAND is refused (%v): %s", err, so)}
	} else if c := full["zscore"]; c == nil || !c.ReadOnly {
		return []string{"COMMAND does not say that ZSCORE is a read: " + so}
	}
	var warnings []string
	for i, info := range infos {
		if !saysReadOnly(info) {
			warnings = append(warnings, fmt.Sprintf("COMMAND INFO does not say that %s is a read: such reads go to the primary", readCommands[i]))
		}
	}
	return warnings
}

// saysReadOnly looks at the third element of a COMMAND INFO entry, its flags.
func saysReadOnly(info any) bool {
	fields, ok := info.([]any)
	if !ok || len(fields) < 3 {
		return false
	}
	flags, ok := fields[2].([]any)
	return ok && slices.Contains(flags, any("readonly"))
}

func toAny(names []string) []any {
	var out []any
	for _, n := range names {
		out = append(out, n)
	}
	return out
}

// checkReader looks at the reader endpoint, where there is one.
func checkReader(ctx context.Context, cfg *config.Config, tc *tls.Config, secret string) error {
	if cfg.Target.Mode != config.Endpoints || cfg.Target.Reader == "" {
		return nil
	}
	rdb := plainClient(cfg.Target.Reader, cfg.Target, secret, tc)
	defer rdb.Close()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return explain(err, cfg.Target.Reader, cfg)
	}
	return nil
}

// parseInfo reads "name:value" lines of INFO.
func parseInfo(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			out[name] = value
		}
	}
	return out
}
