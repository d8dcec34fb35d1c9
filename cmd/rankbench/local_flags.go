package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
)

const (
	// tokenVariable may hold the AUTH token for --auth.
	tokenVariable = "RANKBENCH_AUTH_TOKEN"
	// The ports that are tried first.
	firstNodePort = 7001 // cluster mode enabled: every node has another
	endpointPort  = 6379 // cluster mode disabled: every node has the same
	apiPort       = 7000
)

// upFlags are the flags of `local up`, as given.
type upFlags struct {
	group                  string
	clusterMode            string
	shards, replicas       int
	nodeType               string
	tls, auth              bool
	fullCoverage           string
	nodeTimeout            time.Duration
	port, apiPort, dnsPort int
	binary, region         string

	timings   string
	timing    []string
	timeScale float64
	style     string
	status    string
	quota     int
	wording   string

	restore, detach, background bool
}

// up is what `local up` is to do.
type up struct {
	options    local.Options
	detach     bool
	background bool     // we are what --detach has started
	args       []string // that make a background process do the same
}

func (o *upFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.group, "group", "lb", "replication group `ID`; nodes are named ID-0001-001 …")
	f.StringVar(&o.clusterMode, "cluster-mode", "enabled", "`enabled|disabled`: a Redis Cluster, or one primary and its replicas behind DNS names (Linux only)")
	f.IntVar(&o.shards, "shards", 1, "number of shards")
	f.IntVar(&o.replicas, "replicas", 2, "replicas of each shard")
	f.StringVar(&o.nodeType, "node-type", control.DefaultNodeType, "node `type` that the API shows; it changes nothing")
	f.BoolVar(&o.tls, "tls", false, "encryption in transit, with certificates of an authority of its own")
	f.BoolVar(&o.auth, "auth", false, "an AUTH token: that of "+tokenVariable+", or a new one; a file holds it (needs --tls)")
	f.StringVar(&o.fullCoverage, "full-coverage", "yes", "`yes|no`: refuse everything while a slot is not covered")
	f.DurationVar(&o.nodeTimeout, "node-timeout", 0, "`time` after which a silent node counts as failed (default 2s, with --timings aws-like 15s)")
	f.IntVar(&o.port, "port", firstNodePort, "first `port` to try for nodes, then the next free ones (0: random free ports; cluster mode disabled: 6379)")
	f.IntVar(&o.apiPort, "api-port", apiPort, "`port` of the AWS API; if it is taken, or 0, a random free one")
	f.IntVar(&o.dnsPort, "dns-port", 0, "`port` of the DNS server for the endpoints' names (0: a random free one)")
	f.StringVar(&o.binary, "redis-server", "", "`path` of the server (default: redis-server, then valkey-server, on PATH)")
	f.StringVar(&o.region, "region", "us-east-1", "AWS `region` that names, ARNs and availability zones show")
	o.addBehaviour(f)
	f.BoolVar(&o.restore, "restore", false, "bring back the groups and keys that 'rankbench local down --keep' has kept")
	f.BoolVar(&o.detach, "detach", false, "return when it is ready, and leave it running in the background")
	f.BoolVar(&o.background, "background", false, "")
	_ = f.MarkHidden("background") // fails only for a flag that does not exist
}

// addBehaviour adds the flags that say how operations go.
func (o *upFlags) addBehaviour(f *pflag.FlagSet) {
	f.StringVar(&o.timings, "timings", control.Fast, "`fast|aws-like`: how long operations take: seconds, or as long as practitioners have noted")
	f.StringArrayVar(&o.timing, "timing", nil, "one timing over the profile's: `name=time`, such as failover=5s (repeatable)")
	f.Float64Var(&o.timeScale, "time-scale", 1, "`factor` for the profile's timings, such as 0.1")
	f.StringVar(&o.style, "failover-style", string(control.Kill), "`kill|hang`: how TestFailover takes a primary down: SIGKILL or SIGSTOP")
	f.StringVar(&o.status, "failover-status", control.Available, "`available|modifying`: the group's status during a failover")
	f.IntVar(&o.quota, "failover-quota", 0, "how `many` node groups TestFailover takes in 24 hours, 15 on AWS (0: any number)")
	f.StringVar(&o.wording, "failover-wording", string(control.Observed), "`observed|documented`: the failover's event as logs have it, or as AWS's reference does")
}

// complete checks the flags and turns them into options.
func (o *upFlags) complete(cmd *cobra.Command) (up, error) {
	if err := o.checkWords(); err != nil {
		return up{}, err
	}
	profile, err := o.profile()
	if err != nil {
		return up{}, err
	}
	if o.restore {
		if err := checkRestore(cmd); err != nil {
			return up{}, err
		}
		o.tls = o.auth // the kept group's is not known yet; restoreKept looks
	}
	u := up{detach: o.detach, background: o.background, args: backgroundArgs(cmd)}
	u.options = local.Options{
		Control: control.Options{
			Region: o.region, Timings: profile, Style: control.FailoverStyle(o.style), FailoverStatus: o.status,
			FailoverQuota: o.quota, Wording: control.Wording(o.wording),
			Binary: o.binary, Port: o.port, NodeTimeout: o.timeout(), FullCoverage: o.fullCoverage == "yes",
		},
		Group: o.createInput(), APIPort: o.apiPort, DNSPort: o.dnsPort,
	}
	if o.clusterMode == "disabled" && !cmd.Flags().Changed("port") {
		u.options.Control.Port = endpointPort
	}
	if o.auth {
		u.options.Group.AuthToken = authToken()
	}
	return u, u.options.Validate()
}

// checkWords checks the flags that take one of several words.
func (o *upFlags) checkWords() error {
	var errs []error
	for _, w := range []struct{ flag, value, one, other string }{
		{"cluster-mode", o.clusterMode, "enabled", "disabled"},
		{"full-coverage", o.fullCoverage, "yes", "no"},
		{"failover-style", o.style, string(control.Kill), string(control.Hang)},
		{"failover-status", o.status, control.Available, control.Modifying},
		{"failover-wording", o.wording, string(control.Observed), string(control.Documented)},
	} {
		if w.value != w.one && w.value != w.other {
			errs = append(errs, fmt.Errorf("--%s: %q is neither %s nor %s", w.flag, w.value, w.one, w.other))
		}
	}
	if o.quota < 0 {
		errs = append(errs, fmt.Errorf("--failover-quota: %d is negative", o.quota))
	}
	return errors.Join(errs...)
}

func (o *upFlags) profile() (control.Profile, error) {
	overrides := map[string]time.Duration{}
	for _, pair := range o.timing {
		name, value, _ := strings.Cut(pair, "=")
		d, err := time.ParseDuration(value)
		if err != nil {
			return control.Profile{}, fmt.Errorf("--timing: %q is not name=time, such as failover=5s", pair)
		}
		overrides[name] = d
	}
	return control.NewProfile(o.timings, o.timeScale, overrides)
}

// timeout is Redis's own default where things shall go as on AWS: it is why
// reads fail 10 to 30 s after the writes there.
func (o *upFlags) timeout() time.Duration {
	switch {
	case o.nodeTimeout != 0:
		return o.nodeTimeout
	case o.timings == control.AWSLike:
		return 15 * time.Second
	}
	return 2 * time.Second
}

func (o *upFlags) createInput() control.CreateInput {
	auto := o.replicas > 0 || o.clusterMode == "enabled"
	return control.CreateInput{
		ID: strings.ToLower(o.group), Description: "rankbench local", NodeType: o.nodeType, ClusterMode: o.clusterMode,
		NumNodeGroups: &o.shards, ReplicasPerGroup: &o.replicas, AutomaticFailover: &auto, MultiAZ: &auto,
		TransitEncryption: o.tls,
	}
}

// authToken is the token of the environment, or a new one. A background process
// has the same environment and finds its own.
func authToken() string {
	if t := os.Getenv(tokenVariable); t != "" {
		return t
	}
	return rand.Text()
}

// describing are the flags that --restore leaves to what was kept.
var describing = []string{"group", "cluster-mode", "shards", "replicas", "node-type", "tls"}

// checkRestore refuses flags that say what was kept anyway.
func checkRestore(cmd *cobra.Command) error {
	var errs []error
	for _, name := range describing {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s: with --restore the groups are as they were kept", name))
		}
	}
	return errors.Join(errs...)
}

// restoreKept lets u bring back what was kept. It reads all of it, so that what
// is broken is told before anything is started.
func (o *upFlags) restoreKept(cmd *cobra.Command, u *up) error {
	kept, err := keep.Open(state.KeptPath(localFolder))
	if errors.Is(err, keep.ErrNone) {
		return fail.WithHint(err, "`rankbench local down --keep` keeps what is up; `rankbench local up` starts anew")
	} else if err != nil {
		return fail.WithHint(err, "`rankbench local up` starts anew, without what was kept")
	}
	first := local.CreateInput(kept.Groups[0].Group)
	first.AuthToken = u.options.Group.AuthToken
	if o.auth && !first.TransitEncryption {
		return usage(cmd, fmt.Errorf("--auth: replication group %s was kept without TLS", first.ID))
	}
	u.options.Group, u.options.Kept = first, &kept
	if first.ClusterMode == "disabled" && !cmd.Flags().Changed("port") {
		u.options.Control.Port = endpointPort
	}
	return u.options.Validate()
}

// backgroundArgs repeats the flags that were given.
func backgroundArgs(cmd *cobra.Command) []string {
	words := []string{"local", "up", "--background"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case f.Name == "detach":
		case isList:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name+"="+value)
			}
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

func timingNames() string { return strings.Join(control.TimingNames(), ", ") }
