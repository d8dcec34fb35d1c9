package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/rankbench/rankbench/internal/config"
)

func TestEveryKeyHasItsPlace(t *testing.T) {
	got, err := config.Parse("etc/x.yaml", []byte(`
target:
  mode: endpoints
  primary: a:1
  reader: "[::1]:65535"
  resolver: 127.0.0.1:5353
  tls: { ca_file: ca.pem, cert_file: /c.pem, key_file: ../k.pem, server_name: s, insecure_skip_verify: true }
  username: u
  password_file: secret/p
client:
  profile: raw
  read_from: nearest
  options: { conn_max_lifetime: 1m, pool_size: 5, pool_fifo: true, max_retries: null }
aws:
  replication_group: lb-staging-1
  region: eu-west-1
  profile: drills
  endpoint_url: http://127.0.0.1:7000
  allow: [lb-staging-*, demo]
  allow_tag: rankbench:allow-drill=true
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Target: config.Target{
			Mode: config.Endpoints, Primary: "a:1", Reader: "[::1]:65535", Resolver: "127.0.0.1:5353",
			TLS: &config.TLS{
				CAFile: "etc/ca.pem", CertFile: "/c.pem", KeyFile: "k.pem", ServerName: "s", InsecureSkipVerify: true,
			},
			Username: "u", PasswordFile: "etc/secret/p",
		},
		Client: config.Client{
			Profile: config.Raw, ReadFrom: config.Nearest,
			Options: map[string]string{"conn_max_lifetime": "1m", "pool_size": "5", "pool_fifo": "true"},
		},
		AWS: config.AWS{
			Group: "lb-staging-1", Region: "eu-west-1", Profile: "drills", EndpointURL: "http://127.0.0.1:7000",
			Allow: []string{"lb-staging-*", "demo"}, AllowTag: "rankbench:allow-drill=true",
		},
		Source: got.Source,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	const text = "endpoints primary=a:1 reader=[::1]:65535 resolver=127.0.0.1:5353 " +
		"tls=on,ca_file=etc/ca.pem,cert_file=/c.pem,key_file=k.pem,server_name=s,insecure_skip_verify username=u " +
		"password_file=etc/secret/p profile=raw read_from=nearest conn_max_lifetime=1m pool_fifo=true pool_size=5 " +
		"replication_group=lb-staging-1 region=eu-west-1 aws_profile=drills endpoint_url=http://127.0.0.1:7000 " +
		"allow=lb-staging-*,demo allow_tag=rankbench:allow-drill=true"
	if got.String() != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
}

func TestWhatIsNotGivenHasItsDefault(t *testing.T) {
	got, err := config.Parse("x.yaml", []byte("target: {mode: cluster, addresses: ['127.0.0.1:7001'], tls: false}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got.Source = ""
	if want := config.ForAddresses([]string{"127.0.0.1:7001"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTLSIsSwitchedOnByTrueOrByItsKeys(t *testing.T) {
	for text, want := range map[string]*config.TLS{
		"true": {}, "{}": {}, "false": nil, "null": nil, "{server_name: s}": {ServerName: "s"},
	} {
		c, err := config.Parse("x.yaml", []byte("target: {mode: cluster, addresses: ['a:1'], tls: "+text+"}"), nil)
		if err != nil || !reflect.DeepEqual(c.Target.TLS, want) {
			t.Errorf("tls: %s gives %+v, %v", text, c, err)
		}
	}
}

func TestAllErrorsOfAFileAreToldAtOnce(t *testing.T) {
	check := func(mode, name, value string) error {
		if name == "pool_size" {
			return fmt.Errorf("%s: %q is not a whole number", mode, value)
		}
		return nil
	}
	_, err := config.Parse("x.yaml", []byte(`
target:
  mode: cluster
  addresses:
    - host
    - redis://host:1
    - redis://user:hunter2@host:1
    - host:0
    - host:65536
    - ":6379"
    - ho st:1
    - "::1:6379"
  primary: a:1
  tls: { cert_file: a }
  password_env: has space
  password_file: b
client:
  profile: fast
  read_from: master
  options:
    pool_size: many
    pool_sise: 5
azure: {}
`[1:]), check)
	want := `x.yaml:4: target.addresses.0: "host" is not host:port, such as 127.0.0.1:6379 or [::1]:6379
x.yaml:5: target.addresses.1: "redis://host:1" is not host:port; leave the scheme away, and say tls: true for rediss
x.yaml:6: target.addresses.2: is not host:port; user and password do not go into it, see username, password_env and password_file
x.yaml:7: target.addresses.3: "host:0" has no port in 1 … 65535
x.yaml:8: target.addresses.4: "host:65536" has no port in 1 … 65535
x.yaml:9: target.addresses.5: ":6379" is not host:port, such as 127.0.0.1:6379 or [::1]:6379
x.yaml:10: target.addresses.6: "ho st:1" is not host:port, such as 127.0.0.1:6379 or [::1]:6379
x.yaml:11: target.addresses.7: "::1:6379" is not host:port, such as 127.0.0.1:6379 or [::1]:6379
x.yaml:12: target.primary: goes with mode endpoints only; use addresses
x.yaml:13: target.tls: cert_file and key_file go together: a client certificate and its key
x.yaml:14: target.password_env: is not the name of an environment variable
x.yaml:15: target.password_file: does not go with password_env; use one of them
x.yaml:17: client.profile: "fast" is not one of: tuned, driver-defaults, raw
x.yaml:18: client.read_from: "master" is not one of: replica, random, nearest, primary
x.yaml:20: client.options.pool_size: cluster: "many" is not a whole number
x.yaml:22: azure: is not a known key; known here: target, client, aws`
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestWhatIsWrongWithAWSIsTold(t *testing.T) {
	const base = "target: { mode: standalone, addresses: [a:1] }\naws: "
	for aws, want := range map[string]string{
		"{ region: here }": "aws.region", "{ endpoint_url: 127.0.0.1 }": "aws.endpoint_url",
		"{ endpoint_url: 'http://user:hush@a' }": "aws.endpoint_url", "{ allow: ['lb-['] }": "aws.allow", "{ allow_tag: yes-please }": "aws.allow_tag",
		"{ secret_access_key: hush }": "secrets do not go into a config",
	} {
		_, err := config.Parse("x.yaml", []byte(base+aws), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %s", aws, err, want)
		}
	}
}

func TestAllowIsAListOfPatterns(t *testing.T) {
	a := config.AWS{Allow: []string{"lb-staging-*", "demo"}}
	for id, want := range map[string]bool{"lb-staging-1": true, "demo": true, "demo2": false, "lb": false} {
		if got := a.Allows(id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
	if !(config.AWS{}).Allows("any") {
		t.Error("without a list a group is refused")
	}
}

func TestModesTakeTheirOwnAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                 "x.yaml:1: target.mode: is missing",
		"{mode: sentinel}":   `x.yaml:1: target.mode: "sentinel" is not one of: cluster, standalone, endpoints`,
		"{mode: cluster}":    "x.yaml:1: target.addresses: is missing: at least one host:port, in ElastiCache the configuration endpoint",
		"{mode: standalone}": "x.yaml:1: target.addresses: mode standalone takes exactly one host:port, not 0",
		"{mode: standalone, addresses: ['a:1', 'b:1']}":         "x.yaml:1: target.addresses: mode standalone takes exactly one host:port, not 2",
		"{mode: endpoints, reader: 'a:1'}":                      "x.yaml:1: target.primary: is missing: host:port of the primary endpoint",
		"{mode: endpoints, primary: 'a:1', addresses: ['a:1']}": "x.yaml:1: target.addresses: does not go with mode endpoints; use primary and reader",
		"{mode: standalone, addresses: ['a:1'], reader: 'a:1'}": "x.yaml:1: target.reader: goes with mode endpoints only; use addresses",
		"{mode: cluster, addresses: 'a:1'}":                     `x.yaml:1: target.addresses: "a:1" is not a list`,
	} {
		if _, err := config.Parse("x.yaml", []byte("target: "+text), nil); fmt.Sprint(err) != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestTheResolverIsAnAddressAndNotAName(t *testing.T) {
	parse := func(text string) error {
		_, err := config.Parse("x.yaml", []byte("target: {mode: cluster, addresses: ['a:1'], resolver: '"+text+"'}"), nil)
		return err
	}
	for _, good := range []string{"127.0.0.1:53", "[::1]:5353", "[fe80::1%eth0]:53", "192.0.2.53:65535"} {
		if err := parse(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"localhost:53", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1.2:53", "dns://127.0.0.1:53", "::1:53", ""} {
		want := fmt.Sprintf("x.yaml:1: target.resolver: %q is not ip:port, such as 127.0.0.1:5353; a name could not be looked up", bad)
		if err := parse(bad); fmt.Sprint(err) != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := parse("u:hunter2@127.0.0.1:53"); fmt.Sprint(err) != "x.yaml:1: target.resolver: is not ip:port" {
		t.Error(err)
	}
}

func TestAPasswordInTheFileIsRefusedAndNeverEchoed(t *testing.T) {
	const ok = "target:\n  mode: cluster\n  addresses: ['a:1']\n"
	check := func(_, name, value string) error { return fmt.Errorf("%s: bad value %s", name, value) }
	for _, text := range []string{
		ok + "  password: hunter2",
		ok + "  password: *hunter2",
		ok + "  password: &hunter2 x",
		ok + "  password: !hunter2 x",
		ok + "  password: %hunter2",
		ok + "  password: 'hunter2",
		ok + "  password: [hunter2",
		ok + "  password: {hunter2: 1}",
		ok + "  password: hunter2\n  password: hunter2",
		ok + "  Password: hunter2",
		ok + "  auth-token: hunter2",
		ok + "  password=hunter2:",
		ok + "  password_env: [hunter2]",
		ok + "  password_env: hunter2!",
		ok + "password: hunter2",
		ok + "client: {options: {password: hunter2}}",
		ok + "client: {options: {sentinel_password: [hunter2]}}",
		"target: password=hunter2",
		"target: {password=hunter2}",
		"password=hunter2",
		"target: {mode: 'password=hunter2', addresses: ['redis://:hunter2@a:1']}",
		"target: {mode: endpoints, primary: 'redis://:hunter2@a:1', reader: 'u:hunter2@a:1'}",
	} {
		_, err := config.Parse("x.yaml", []byte(text), check)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := config.Parse("x.yaml", []byte(ok+"  password: hunter2"), nil)
	const want = "x.yaml:4: target.password: is not a known key: secrets do not go into a config; " +
		"use target.password_env (name of an environment variable) or target.password_file (path of a file)"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

func TestStringHidesWhatLooksLikeASecret(t *testing.T) {
	c := config.ForAddresses([]string{"a:1"})
	c.Client.Options = map[string]string{"password": "hunter2"}
	if got := c.String(); got != "cluster a:1 profile=tuned read_from=replica password=(hidden)" {
		t.Error(got)
	}
}

func TestSecretIsReadFromWhereTheConfigSays(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("RANKBENCH_TEST_SET", " pass ")
	t.Setenv("RANKBENCH_TEST_EMPTY", "")
	empty, none := file("empty", "\n"), filepath.Join(dir, "none")
	for name, c := range map[string]struct {
		target      config.Target
		want, error string
	}{
		"nowhere":          {},
		"variable":         {target: config.Target{PasswordEnv: "RANKBENCH_TEST_SET"}, want: " pass "},
		"empty variable":   {target: config.Target{PasswordEnv: "RANKBENCH_TEST_EMPTY"}, error: "read password: environment variable RANKBENCH_TEST_EMPTY (target.password_env) is not set, or is empty"},
		"unusual variable": {target: config.Target{PasswordEnv: "hunter2"}, error: "read password: the environment variable that target.password_env names is not set, or is empty"},
		"file":             {target: config.Target{PasswordFile: file("p", "pass \n")}, want: "pass "},
		"file, windows":    {target: config.Target{PasswordFile: file("w", "pass\r\n")}, want: "pass"},
		"two newlines":     {target: config.Target{PasswordFile: file("n", "pass\n\n")}, want: "pass\n"},
		"empty file":       {target: config.Target{PasswordFile: empty}, error: "password file (target.password_file): " + empty + " is empty"},
		"no file":          {target: config.Target{PasswordFile: none}, error: "password file (target.password_file): read " + none + ": no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.target.Secret()
			if c.error == "" {
				c.error = "<nil>"
			}
			if got != c.want || fmt.Sprint(err) != c.error {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestTheConfigsOfTheRepositoryAreValid(t *testing.T) {
	files, _ := filepath.Glob("../../configs/*.yaml")
	if len(files) < 4 {
		t.Fatalf("only %d files", len(files))
	}
	for _, path := range files {
		c, err := config.Read(path, nil)
		if err != nil {
			t.Error(err)
		} else if c.Client.Profile != config.Tuned {
			t.Errorf("%s does not begin with the default profile", path)
		}
	}
}

func TestPrometheusScrapesTheDefaultMetricsAddress(t *testing.T) {
	data, err := os.ReadFile("../../configs/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Jobs []struct {
			Name    string `yaml:"job_name"`
			Configs []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Jobs); got != "[{rankbench [{[127.0.0.1:9121]}]}]" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../configs/*.yaml")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("target: {mode: endpoints, primary: 'a:1', tls: {ca_file: x}}\nclient: {options: {a.b: 1m, bad: 5}}")
	check := func(_, name, _ string) error {
		if name == "bad" {
			return errors.New("bad")
		}
		return nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := config.Parse("etc/x.yaml", []byte(text), check)
		if err != nil {
			return
		}
		second, err := config.Parse("etc/x.yaml", []byte(first.Source), check)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%v\n%+v\n%+v", err, first, second)
		}
	})
}
