//go:build unix

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestRestrictedUserIsDeniedWhatElastiCacheDenies(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Replicas: 1, Restricted: true, Password: "token-1"})
	user := redis.NewClient(&redis.Options{Addr: c.Addrs()[0], Password: "token-1", MaxRetries: -1})
	defer user.Close()
	for _, command := range []string{
		"acl setuser x", "acl load", "acl save", "acl deluser x", "bgrewriteaof", "bgsave", "config get port",
		"config resetstat", "migrate 127.0.0.1 1 k 0 1", "module list", "psync ? -1",
		"replicaof no one", "save", "slaveof no one", "shutdown nosave", "sync", "failover",
		"cluster addslots 1", "cluster addslotsrange 1 2", "cluster bumpepoch", "cluster count-failure-reports x",
		"cluster delslots 1", "cluster delslotsrange 1 2", "cluster failover", "cluster failover takeover",
		"cluster flushslots", "cluster forget x", "cluster links", "cluster meet 127.0.0.1 1", "cluster replicate x",
		"cluster reset", "cluster saveconfig", "cluster set-config-epoch 9", "cluster setslot 1 stable",
	} {
		if err := do(t, user, command); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: %v, want NOPERM", command, err)
		}
	}
	if err := do(t, user, "debug sleep 0"); err == nil {
		t.Error("debug: no error") // Redis 7 refuses it before it looks at the user
	}
	for _, command := range []string{
		"zadd r 1 m", "zrange r 0 -1", "info", "cluster info", "cluster nodes", "cluster slots", "cluster shards",
		"cluster myid", "cluster keyslot k", "cluster countkeysinslot 1", "cluster getkeysinslot 1 1", "cluster help",
		"acl dryrun default get k", "acl genpass", "acl getuser default", "acl help", "acl list", "acl log", "acl users", "role", "client list", "client id", "memory usage r", "wait 0 1",
		"acl whoami", "acl cat", "command count", "latency latest", "slowlog get", "readonly", "multi", "exec",
		"subscribe c",
	} {
		if err := do(t, user, command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	for i, h := range cluster.Inspect(t.Context(), c.Addrs(), "token-1") {
		if !h.Up || i > 0 && h.Link != "up" {
			t.Errorf("node %d is %+v", i, h)
		}
	}
}

// do runs a command given as a line.
func do(t *testing.T, client *redis.Client, line string) error {
	t.Helper()
	var args []any
	for word := range strings.FieldsSeq(line) {
		args = append(args, word)
	}
	return client.Do(t.Context(), args...).Err()
}

func TestPasswordIsAskedForAndInNoFile(t *testing.T) {
	t.Parallel()
	const password = `a "token" \ of many words`
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1, Password: password})
	for _, n := range c.Nodes() {
		if err := client(t, n.Addr).Ping(t.Context()).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
			t.Errorf("%s without a password: %v", n.ID, err)
		}
		conf, err := os.ReadFile(filepath.Join(c.Dir(), n.ID, "redis.conf"))
		if err != nil || strings.Contains(string(conf), "token") {
			t.Errorf("%s: the password is in its file, or %v", n.ID, err)
		}
	}
	for i, h := range cluster.Inspect(t.Context(), c.Addrs(), password) {
		if !h.Up {
			t.Errorf("node %d with the password: %+v", i, h)
		}
	}
}

func TestUnrestrictedUserMayDoEverything(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{})
	for _, command := range []string{"config get port", "debug sleep 0", "cluster saveconfig", "acl setuser x"} {
		if err := do(t, client(t, c.Addrs()[0]), command); err != nil && !strings.Contains(err.Error(), "DEBUG") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func ExampleRange_String() {
	fmt.Println(cluster.Range{First: 0, Last: 5460}, cluster.Range{First: 7, Last: 7})
	// Output: 0-5460 7
}
