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

// restrictedSubcommands are denied one by one where the server knows deny-lists
// of subcommands: from Redis 7.0 on.
var restrictedSubcommands = map[string][]string{
	"acl": {"deluser", "load", "save", "setuser"},
	"cluster": {
		"addslots", "addslotsrange", "bumpepoch", "count-failure-reports", "delslots", "delslotsrange",
		"failover", "flushslots", "forget", "links", "meet", "replicate", "reset", "saveconfig",
		"set-config-epoch", "setslot",
	},
}

// allowedSubcommands are what is left of the same commands, for Redis 6, which
// only knows allow-lists.
var allowedSubcommands = map[string][]string{
	"acl": {"cat", "genpass", "getuser", "help", "list", "log", "users", "whoami"},
	"cluster": {
		"countkeysinslot", "getkeysinslot", "help", "info", "keyslot", "myid", "nodes", "replicas", "slaves", "slots",
	},
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
		b.WriteString(subcommandRules(command, c.server.atLeast(7, 0)))
	}
	return b.String()
}

// subcommandRules restricts the subcommands of one command.
func subcommandRules(command string, denyLists bool) string {
	rules, sign, subcommands := "", " -", restrictedSubcommands[command]
	if !denyLists {
		rules, sign, subcommands = " -"+command, " +", allowedSubcommands[command]
	}
	for _, sub := range subcommands {
		rules += sign + command + "|" + sub
	}
	return rules
}
