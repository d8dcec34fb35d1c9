// Package config reads against what a run goes from a YAML file: the target,
// the client's settings, and which replication group drills change. It holds no secret, only where one is to be found,
// and no error of it shows the value of a key that looks like one. It knows
// neither Redis nor the driver; what the driver's options are called, the
// caller says (OptionCheck).
//
//  1. The file is decoded strictly (file.go).
//  2. Target, client and AWS are checked and filled in; all errors are returned
//     at once, each with its line (target.go, client.go, aws.go).
//  3. Target.Secret reads the password when a connection needs it (secret.go).
package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Config is against what a run goes.
type Config struct {
	Target Target
	Client Client
	AWS    AWS
	Source string // YAML as read, without comments; "" where no file was read
}

// Target is where the ranking is and how to get in.
type Target struct {
	Mode         string   // Cluster, Standalone or Endpoints
	Addresses    []string // cluster: seeds, at least one; standalone: exactly one; host:port
	Primary      string   // endpoints: host:port
	Reader       string   // endpoints: host:port; "" sends reads to the primary
	Resolver     string   // ip:port of the DNS server that is asked for host names; "" is the system's
	TLS          *TLS     // nil is plain text
	Username     string   // of the ACL user; "" is the default user
	PasswordEnv  string   // name of an environment variable
	PasswordFile string   // relative to the working folder, unless absolute
}

// The modes of a target.
const (
	Cluster    = "cluster"    // cluster mode: the driver asks the seeds for the nodes
	Standalone = "standalone" // one server
	Endpoints  = "endpoints"  // not clustered: primary endpoint and reader endpoint
)

// TLS is how the connection is encrypted. The zero value verifies the server
// against the system's certificates.
type TLS struct {
	CAFile, CertFile, KeyFile string // PEM; paths as PasswordFile
	ServerName                string // expected in the certificate; "" is the host dialled
	InsecureSkipVerify        bool
}

// Client is how the driver is set up.
type Client struct {
	Profile  string            // Tuned, DriverDefaults or Raw
	ReadFrom string            // Replica, Random, Nearest or Primary
	Options  map[string]string // go-redis options by snake-case name, over the profile; values as written; nil for none
}

// The profiles of the client.
const (
	Tuned          = "tuned"           // recovers fast
	DriverDefaults = "driver-defaults" // what an untuned service gets
	Raw            = "raw"             // no retries by the driver: every error shows
)

// Where reads go.
const (
	Replica = "replica"
	Random  = "random"
	Nearest = "nearest"
	Primary = "primary"
)

// ForAddresses is the config of a cluster with plain connections and default settings.
func ForAddresses(addrs []string) *Config {
	return &Config{
		Target: Target{Mode: Cluster, Addresses: slices.Clone(addrs)},
		Client: Client{Profile: Tuned, ReadFrom: Replica},
	}
}

// String returns the settings in one line. Passwords are not part of a Config;
// should one have got into the options, it is hidden.
func (c *Config) String() string {
	t := c.Target
	words := append([]string{t.Mode}, t.Addresses...)
	words = appendSet(words, "primary", t.Primary, "reader", t.Reader, "resolver", t.Resolver, "tls", t.TLS.String(),
		"username", t.Username, "password_env", shownVariable(t.PasswordEnv), "password_file", t.PasswordFile,
		"profile", c.Client.Profile, "read_from", c.Client.ReadFrom)
	for _, name := range slices.Sorted(maps.Keys(c.Client.Options)) {
		value := c.Client.Options[name]
		if looksSecret(name) {
			value = "(hidden)"
		}
		words = append(words, name+"="+value)
	}
	words = appendSet(words, "replication_group", c.AWS.Group, "region", c.AWS.Region, "aws_profile", c.AWS.Profile,
		"endpoint_url", c.AWS.EndpointURL, "allow", strings.Join(c.AWS.Allow, ","), "allow_tag", c.AWS.AllowTag)
	return strings.Join(words, " ")
}

// shownVariable hides what is no usual name of a variable: it may be a password
// in the wrong place.
func shownVariable(name string) string {
	if name == "" || usualVariable.MatchString(name) {
		return name
	}
	return "(hidden)"
}

// String returns what matters of the settings in one word; "" for no TLS.
func (t *TLS) String() string {
	if t == nil {
		return ""
	}
	words := appendSet([]string{"on"}, "ca_file", t.CAFile, "cert_file", t.CertFile,
		"key_file", t.KeyFile, "server_name", t.ServerName)
	if t.InsecureSkipVerify {
		words = append(words, "insecure_skip_verify")
	}
	return strings.Join(words, ",")
}

// appendSet appends name=value for those of the pairs that have a value.
func appendSet(words []string, pairs ...string) []string {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			words = append(words, fmt.Sprintf("%s=%s", pair[0], pair[1]))
		}
	}
	return words
}
