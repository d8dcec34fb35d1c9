package target_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The driver's pool looks for a dead server once a second, and notices
		// only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// patience bounds waits for what a healthy server does in milliseconds: it is
// only ever used up where something is broken, or the machine is overloaded.
const patience = 20 * time.Second

// eventually asks until check has no complaint, and fails the test with the
// last one when the time is over.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(within); ; {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v: %v", within, err)
		}
	}
}

// direct is a client of one node that the code under test knows nothing of.
func direct(t *testing.T, addr, password string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, Password: password, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// directs are such clients of all nodes, by address.
func directs(t *testing.T, c *cluster.Cluster) map[string]*redis.Client {
	t.Helper()
	out := map[string]*redis.Client{}
	for _, addr := range c.Addrs() {
		out[addr] = direct(t, addr, "")
	}
	return out
}

// calls is what one node says of the ranking's commands: INFO commandstats.
type calls struct{ zadd, zscore, zcount, zrevrange, rejected int64 }

func (c calls) reads() int64 { return c.zscore + c.zcount + c.zrevrange }

func (c calls) minus(d calls) calls {
	return calls{c.zadd - d.zadd, c.zscore - d.zscore, c.zcount - d.zcount, c.zrevrange - d.zrevrange, c.rejected - d.rejected}
}

func (c calls) plus(d calls) calls { return c.minus(calls{}.minus(d)) }

// callsOf asks all nodes.
func callsOf(t *testing.T, nodes map[string]*redis.Client) map[string]calls {
	t.Helper()
	out := map[string]calls{}
	for addr, c := range nodes {
		text, err := c.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		out[addr] = parseCalls(t, text)
	}
	return out
}

// parseCalls reads lines such as
// cmdstat_zadd:calls=12,usec=34,usec_per_call=2.83,rejected_calls=0,failed_calls=0.
func parseCalls(t *testing.T, text string) calls {
	t.Helper()
	var out calls
	for line := range strings.Lines(text) {
		name, fields, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		n := map[string]int64{}
		for f := range strings.SplitSeq(fields, ",") {
			k, v, _ := strings.Cut(f, "=")
			n[k], _ = strconv.ParseInt(v, 10, 64) // usec_per_call is no integer and of no account
		}
		into := map[string]*int64{"cmdstat_zadd": &out.zadd, "cmdstat_zscore": &out.zscore,
			"cmdstat_zcount": &out.zcount, "cmdstat_zrevrange": &out.zrevrange}[name]
		if into != nil {
			*into = n["calls"]
			out.rejected += n["rejected_calls"]
		}
	}
	return out
}

// differences returns after minus before, node by node.
func differences(after, before map[string]calls) map[string]calls {
	out := map[string]calls{}
	for addr := range after {
		out[addr] = after[addr].minus(before[addr])
	}
	return out
}

// model is the ranking by brute force: what a reader of the documentation
// would expect of each operation, without Redis.
type model map[string]float64

type row struct {
	member string
	score  float64
}

// rows lists the ranking from the best: by score, equal ones by name, both descending.
func (m model) rows() []row {
	var out []row
	for member, score := range m {
		out = append(out, row{member, score})
	}
	slices.SortFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.member, a.member))
	})
	return out
}

func (m model) rank(score float64) int64 {
	rank := int64(1)
	for _, s := range m {
		if s > score {
			rank++
		}
	}
	return rank
}

// get is the reply of Get, or of Find for its first member.
func (m model) get(member string, rows int) ranking.Reply {
	return ranking.Reply{Score: m[member], Rank: m.rank(m[member]), Rows: rows, Found: true}
}

func (m model) page(start int64, count int) ranking.Reply {
	first := m.rows()[start]
	return ranking.Reply{Score: first.score, Rank: m.rank(first.score), Rows: count, Found: true}
}

// members and spread of the model: several members share each score.
const (
	modelMembers = 300
	modelSpread  = 17
)

// newModel fills the key on the primary with a model, and waits until all
// nodes have it.
func newModel(t *testing.T, key string, primary *redis.Client, all map[string]*redis.Client) model {
	t.Helper()
	r, err := ranking.New(ranking.Spec{Key: key, Members: modelMembers, ScoreSpread: modelSpread, MemberFormat: "p:%04d", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	var z []redis.Z
	for pos := range int64(modelMembers) {
		id, score := r.At(pos)
		member := string(r.AppendMember(nil, id))
		m[member] = score
		z = append(z, redis.Z{Score: score, Member: member})
	}
	if err := primary.ZAdd(t.Context(), key, z...).Err(); err != nil {
		t.Fatal(err)
	}
	m.await(t, key, all)
	return m
}

// await waits until every node holds exactly the model.
func (m model) await(t *testing.T, key string, all map[string]*redis.Client) {
	t.Helper()
	for addr, c := range all {
		conn := c.Conn() // in a cluster a replica answers a connection that asked for it only
		defer conn.Close()
		_ = conn.ReadOnly(t.Context()).Err() // fails on a standalone server, where it is not needed
		eventually(t, patience, func() error {
			got, err := conn.ZRangeWithScores(t.Context(), key, 0, -1).Result()
			if err != nil {
				return err
			}
			if len(got) != len(m) {
				return fmt.Errorf("%s has %d members of %d", addr, len(got), len(m))
			}
			for _, z := range got {
				if name := z.Member.(string); m[name] != z.Score {
					return fmt.Errorf("%s: %s has %v, not %v", addr, name, z.Score, m[name])
				}
			}
			return nil
		})
	}
}

// open opens a client of the config until the test ends.
func open(t *testing.T, cfg *config.Config, key string, workers int) *target.Client {
	t.Helper()
	c, err := target.Open(cfg, key, target.Need{Workers: workers, FindWorkers: workers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// do runs one operation that must succeed.
func do(t *testing.T, w *target.Worker, op ranking.Op) ranking.Reply {
	t.Helper()
	r, err := w.Do(t.Context(), &op)
	if err != nil {
		t.Fatalf("%v: %v", op.Kind, err)
	}
	return r
}
