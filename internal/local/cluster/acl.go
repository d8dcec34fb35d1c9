package cluster

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// adminUser is the ACL user as which this package and the nodes among
// themselves log in. The default user is the load's, as on ElastiCache.
const adminUser = "rankbench"

// restrictedCommands are the commands that ElastiCache denies its users (User
// Guide, "Supported and restricted commands").
var restrictedCommands = []string{
	"bgrewriteaof", "bgsave", "config", "debug", "migrate", "module", "psync",
	"replicaof", "save", "shutdown", "slaveof", "sync",
}

// allowedSubcommands are what ElastiCache leaves of commands that it denies in part,
// with the version that brought each where that is after 6.0. A list of what is
// denied would let through what servers learn later, such as Valkey 9's CLUSTER
// MIGRATESLOTS; and Redis 6 knows no such lists.
var allowedSubcommands = map[string][]subcommand{
	"acl": {
		{"cat", 6, 0}, {"dryrun", 7, 0}, {"genpass", 6, 0}, {"getuser", 6, 0}, {"help", 6, 0}, {"list", 6, 0},
		{"log", 6, 0}, {"users", 6, 0}, {"whoami", 6, 0},
	},
	"cluster": {
		{"countkeysinslot", 6, 0}, {"getkeysinslot", 6, 0}, {"help", 6, 0}, {"info", 6, 0}, {"keyslot", 6, 0},
		{"myid", 6, 0}, {"myshardid", 7, 2}, {"nodes", 6, 0}, {"replicas", 6, 0}, {"shards", 7, 0}, {"slaves", 6, 0},
		{"slots", 6, 0},
	},
}

// subcommand is one with its first version: from 7.0 on a server does not start
// with a rule for one that it does not know.
type subcommand struct {
	name         string
	major, minor int
}

// newPassword makes the password of a cluster's admin user.
func newPassword() string { return rand.Text() }

// confACL writes the users, their passwords as hashes. masterauth has to be in
// clear; the file is this user's alone and is removed by Stop.
func (c *Cluster) confACL(set func(string, any)) {
	set("user", adminUser+" on "+secret(c.admin.password)+c.everything())
	set("user", "default on "+secret(c.opts.Password)+c.everything()+c.restrictions())
	set("masteruser", adminUser)
	set("masterauth", strconv.Quote(c.admin.password))
}

// secret is the ACL rule that asks for password, or for none if it is empty.
func secret(password string) string {
	if password == "" {
		return "nopass"
	}
	sum := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(sum[:])
}

// everything allows all keys, channels and commands.
func (c *Cluster) everything() string {
	if c.server.atLeast(6, 2) {
		return " ~* &* +@all"
	}
	return " ~* +@all"
}

// restrictions take from the default user what ElastiCache does not give.
func (c *Cluster) restrictions() string {
	if !c.opts.Restricted {
		return ""
	}
	var b strings.Builder
	for _, command := range restrictedCommands {
		b.WriteString(" -" + command)
	}
	if c.server.atLeast(6, 2) {
		b.WriteString(" -failover")
	}
	for _, command := range []string{"acl", "cluster"} {
		b.WriteString(c.server.subcommandRules(command))
	}
	return b.String()
}

// subcommandRules restricts the subcommands of one command.
func (s Server) subcommandRules(command string) string {
	rules := " -" + command
	for _, sub := range allowedSubcommands[command] {
		if s.atLeast(sub.major, sub.minor) {
			rules += " +" + command + "|" + sub.name
		}
	}
	return rules
}
