package target

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
)

var modes = map[string]func() any{
	config.Cluster:    func() any { return &redis.ClusterOptions{} },
	config.Standalone: func() any { return &redis.Options{} },
	config.Endpoints:  func() any { return &redis.Options{} },
}

// example is a value of an option's type, as a config would write it, and as the driver gets it.
func example(f reflect.StructField) (text string, want any) {
	switch {
	case f.Type == reflect.TypeFor[time.Duration]():
		return "1m30s", 90 * time.Second
	case f.Type.Kind() == reflect.Bool:
		return "true", true
	case f.Type.Kind() == reflect.String:
		return "word", "word"
	default:
		return "1_234", 1234
	}
}

func TestEveryListedOptionCanBeSet(t *testing.T) {
	for mode, fresh := range modes {
		names := optionNames(reflect.TypeOf(fresh()).Elem())
		if len(names) < 20 { // 9.23.0 has about 40; none would make this test empty
			t.Errorf("%s: only %d options: %v", mode, len(names), names)
		}
		for _, name := range names {
			if err := setOne(fresh(), name); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			f, _ := fieldOf(fresh(), name)
			text, _ := example(f)
			if err := CheckOption(mode, name, text); err != nil {
				t.Errorf("%s: check of %s=%s: %v", mode, name, text, err)
			}
		}
	}
}

// setOne sets one option and looks whether exactly that field has changed.
func setOne(options any, name string) error {
	f, ok := fieldOf(options, name)
	if !ok {
		return fmt.Errorf("%s is the name of no field, or of several", name)
	}
	text, want := example(f)
	if err := setOption(options, name, text); err != nil {
		return err
	}
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		switch field := v.Type().Field(i); {
		case field.Name == f.Name:
			if got := v.Field(i).Interface(); fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("%s=%s sets %v, want %v", name, text, got, want)
			}
		case !v.Field(i).IsZero():
			return fmt.Errorf("%s sets %s, too", name, field.Name)
		}
	}
	return nil
}

func fieldOf(options any, name string) (field reflect.StructField, once bool) {
	t := reflect.TypeOf(options).Elem()
	n := 0
	for i := range t.NumField() {
		if snake(t.Field(i).Name) == name {
			field = t.Field(i)
			n++
		}
	}
	return field, n == 1
}

func TestOptionsThatTheConfigHasWordsForAreNotSettable(t *testing.T) {
	for mode := range modes {
		for _, name := range []string{
			"addr", "addrs", "network", "username", "password", "client_name", "read_only", "route_by_latency", "route_randomly",
			"tls_config", "dialer", "on_connect", "disable_indentity", "",
			"PoolSize", "poolsize", "pool-size", "no_such_option",
		} {
			err := CheckOption(mode, name, "1")
			if err == nil || !strings.Contains(err.Error(), "pool_size") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q: %v, want a line with the names there are", mode, name, err)
			}
		}
	}
}

func TestWrongValuesOfOptionsAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, value string }{
		{"pool_size", "many"}, {"max_redirects", "-2"}, {"pool_size", ""}, {"pool_size", "1.5"}, {"pool_size", "3000000000"}, {"pool_size", "10s"},
		{"pool_fifo", "yes please"}, {"pool_fifo", ""},
		{"read_timeout", "5"}, {"read_timeout", "-3s"}, {"read_timeout", "soon"}, {"read_timeout", ""}, {"read_timeout", "-3"},
	} {
		for mode := range modes {
			err := CheckOption(mode, tc.name, tc.value)
			if err == nil || !strings.Contains(err.Error(), tc.name) {
				t.Errorf("%s: %s=%q: %v, want an error that names it", mode, tc.name, tc.value, err)
			}
		}
	}
}

func TestDriversWordsForNoTimeoutAreTaken(t *testing.T) {
	for text, want := range map[string]time.Duration{"-1": -1, "-2": -2, "0": 0, "0s": 0, "250ms": 250 * time.Millisecond} {
		var o redis.Options
		if err := setOption(&o, "read_timeout", text); err != nil || o.ReadTimeout != want {
			t.Errorf("read_timeout=%s: %v (%v), want %v", text, o.ReadTimeout, err, want)
		}
	}
}

func TestSnakeNames(t *testing.T) {
	for name, want := range map[string]string{
		"PoolSize": "pool_size", "PoolFIFO": "pool_fifo", "DB": "db", "ConnMaxLifetimeJitter": "conn_max_lifetime_jitter",
		"TLSConfig": "tls_config", "ClusterStateReloadInterval": "cluster_state_reload_interval",
		"FailingTimeoutSeconds": "failing_timeout_seconds", "UnstableResp3": "unstable_resp3", "MinIdleConns": "min_idle_conns",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestEffectiveOptionsAreWhatTheDriverUsesWithoutSecrets: the profile, single
// options over it, the driver's own defaults, and nothing of the credentials.
func TestEffectiveOptionsAreWhatTheDriverUsesWithoutSecrets(t *testing.T) {
	const user, secret = "effective-user", "effective-secret"
	t.Setenv("EFFECTIVE_PASSWORD", secret)
	for mode := range modes {
		for _, profile := range []string{config.Tuned, config.DriverDefaults, config.Raw} {
			e := effectiveOf(t, mode, profile, user)
			if all := fmt.Sprint(e); strings.Contains(all, secret) || strings.Contains(all, user) {
				t.Errorf("%s/%s shows credentials: %s", mode, profile, all)
			}
			if e["pool_size"] != 77 { // set over the profile
				t.Errorf("%s/%s: pool_size %v, want 77", mode, profile, e["pool_size"])
			}
			if want := map[string]string{config.DriverDefaults: "5s"}[profile]; want != "" && e["read_timeout"] != want {
				t.Errorf("%s/%s: read_timeout %v, want the driver's %s", mode, profile, e["read_timeout"], want)
			} else if want == "" && e["read_timeout"] != tunedTimeout.String() {
				t.Errorf("%s/%s: read_timeout %v, want %v", mode, profile, e["read_timeout"], tunedTimeout)
			}
			tries := map[bool]string{true: "max_redirects", false: "max_retries"}[mode == config.Cluster]
			if none := e[tries] == 0 || e[tries] == -1; none != (profile == config.Raw) {
				t.Errorf("%s/%s: %s is %v", mode, profile, tries, e[tries])
			}
		}
	}
}

func effectiveOf(t *testing.T, mode, profile, user string) map[string]any {
	t.Helper()
	cfg := &config.Config{
		Target: config.Target{Mode: mode, Username: user, PasswordEnv: "EFFECTIVE_PASSWORD",
			Addresses: []string{"127.0.0.1:1"}, Primary: "127.0.0.1:1"},
		Client: config.Client{Profile: profile, ReadFrom: config.Replica, Options: map[string]string{"pool_size": "77"}},
	}
	c, err := Open(cfg, "k", Need{Workers: 3, FindWorkers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Effective()
}

func TestPoolsFollowTheLoadWhereTheProfileIsOurs(t *testing.T) {
	cfg := config.ForAddresses([]string{"127.0.0.1:1"})
	o, err := clusterOptions(cfg, Need{Workers: 200, FindWorkers: 30}, nil)
	if err != nil || o.PoolSize != 200 || o.PipelinePoolSize != 30 {
		t.Errorf("pools of %d and %d (%v), want 200 and 30", o.PoolSize, o.PipelinePoolSize, err)
	}
	cfg.Client.Profile = config.DriverDefaults
	if o, err = clusterOptions(cfg, Need{Workers: 200}, nil); err != nil || o.PoolSize != 0 || o.Dialer != nil {
		t.Errorf("driver-defaults: pool of %d, own dialer %t (%v), want the driver's own", o.PoolSize, o.Dialer != nil, err)
	}
}

func TestReadFromBecomesTheDriversRouting(t *testing.T) {
	for from, want := range map[string][3]bool{ // ReadOnly, RouteRandomly, RouteByLatency
		config.Replica: {true, false, false}, config.Random: {false, true, false},
		config.Nearest: {false, false, true}, config.Primary: {},
	} {
		cfg := config.ForAddresses([]string{"127.0.0.1:1"})
		cfg.Client.ReadFrom = from
		o, err := clusterOptions(cfg, Need{Workers: 1}, nil)
		if got := [3]bool{o.ReadOnly, o.RouteRandomly, o.RouteByLatency}; err != nil || got != want {
			t.Errorf("%s: %v (%v), want %v", from, got, err, want)
		}
	}
}

func TestScatterPickerSpreadsReadsEvenlyWithoutAPattern(t *testing.T) {
	for total := 1; total <= 5; total++ {
		p, seen, pairs := &scatterPicker{}, make([]int, total), map[[2]int]int{}
		const draws = 10_000
		last := 0
		for range draws {
			n := p.Next(total)
			seen[n]++
			pairs[[2]int{last, n}]++
			last = n
		}
		for n, times := range seen {
			// 10,000 draws: a fair share is 2,000 or more, its deviation about 40; the
			// sequence is fixed, so that the bound of 5 % never fails by chance.
			if fair := draws / total; times < fair*95/100 || times > fair*105/100 {
				t.Errorf("%d of %d: %d of %d draws", n, total, times, draws)
			}
		}
		if len(pairs) != total*total { // round robin would have only total of them
			t.Errorf("of %d: %d pairs in a row, want all %d", total, len(pairs), total*total)
		}
	}
	if p := (&scatterPicker{}); p.Next(0) != 0 {
		t.Error("of none: want 0")
	}
}
