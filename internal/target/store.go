package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/ranking"
)

// Store is what filling and checking a ranking needs of the server. All its
// commands go to the primary of the ranking's slot. It is safe for concurrent
// use, but for its appenders.
type Store struct {
	client *Client
	key    string
	marker string
}

// Store returns the store of the client's ranking.
func (c *Client) Store() *Store {
	return &Store{client: c, key: c.key, marker: ranking.MarkerKey(c.key)}
}

// primary is the client of the node that holds the ranking now.
func (s *Store) primary(ctx context.Context) (*redis.Client, error) {
	switch c := s.client.cmdable.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, s.key)
	case *redis.Client:
		return c, nil
	default:
		return nil, fmt.Errorf("find the primary of %q: unknown client %T", s.key, c)
	}
}

// Marker returns the fields of the marker key; none where there is no marker.
func (s *Store) Marker(ctx context.Context) (map[string]string, error) {
	p, err := s.primary(ctx)
	if err != nil {
		return nil, err
	}
	return p.HGetAll(ctx, s.marker).Result()
}

// SetMarker writes fields of the marker key.
func (s *Store) SetMarker(ctx context.Context, fields map[string]string) error {
	return s.client.cmdable.HSet(ctx, s.marker, fields).Err()
}

// Type returns the type of the ranking's key: zset, none, or another.
func (s *Store) Type(ctx context.Context) (string, error) {
	p, err := s.primary(ctx)
	if err != nil {
		return "", err
	}
	return p.Type(ctx, s.key).Result()
}

// Card returns the number of members.
func (s *Store) Card(ctx context.Context) (int64, error) {
	p, err := s.primary(ctx)
	if err != nil {
		return 0, err
	}
	return p.ZCard(ctx, s.key).Result()
}

// Clear removes the ranking and its marker, the marker last.
func (s *Store) Clear(ctx context.Context) error {
	if err := s.client.cmdable.Unlink(ctx, s.key).Err(); err != nil {
		return err
	}
	return s.client.cmdable.Unlink(ctx, s.marker).Err()
}

// Scores returns the members' scores; ok[i] is false where there is no such
// member. It uses ZMSCORE (Redis 6.2), which no operation of the load uses, so
// that a check never shows in the counts of the load's commands.
func (s *Store) Scores(ctx context.Context, members []string) (scores []float64, ok []bool, err error) {
	p, err := s.primary(ctx)
	if err != nil {
		return nil, nil, err
	}
	args := append([]any{"zmscore", s.key}, toAny(members)...)
	values, err := p.Do(ctx, args...).Slice()
	if err != nil && redis.HasErrorPrefix(err, "unknown command") {
		return scoresOneByOne(ctx, p, s.key, members)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, v := range values {
		score, found, err := asScore(v)
		if err != nil {
			return nil, nil, err
		}
		scores, ok = append(scores, score), append(ok, found)
	}
	return scores, ok, nil
}

// scoresOneByOne is Scores for servers before Redis 6.2.
func scoresOneByOne(ctx context.Context, p *redis.Client, key string, members []string) (scores []float64, ok []bool, err error) {
	cmds, err := p.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, m := range members {
			pipe.ZScore(ctx, key, m)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, err
	}
	for _, c := range cmds {
		scores, ok = append(scores, c.(*redis.FloatCmd).Val()), append(ok, c.Err() == nil)
	}
	return scores, ok, nil
}

// asScore reads a score as RESP3 or RESP2 gives it.
func asScore(v any) (score float64, found bool, err error) {
	switch v := v.(type) {
	case nil:
		return 0, false, nil
	case float64:
		return v, true, nil
	case int64:
		return float64(v), true, nil
	case string:
		score, err = strconv.ParseFloat(v, 64)
		return score, true, err
	default:
		return 0, false, fmt.Errorf("read a score: unexpected %T", v)
	}
}

// DatasetMemory is used_memory_dataset of the primary, bytes: what its data
// takes, without the buffers of clients and replicas, which a fill swells.
func (s *Store) DatasetMemory(ctx context.Context) (uint64, error) {
	p, err := s.primary(ctx)
	if err != nil {
		return 0, err
	}
	text, err := p.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(parseInfo(text)["used_memory_dataset"], 10, 64)
}

// MemoryUsage is MEMORY USAGE of the ranking, bytes, from a sample of members;
// it leaves out part of the hash table.
func (s *Store) MemoryUsage(ctx context.Context) (uint64, error) {
	p, err := s.primary(ctx)
	if err != nil {
		return 0, err
	}
	n, err := p.MemoryUsage(ctx, s.key, 1000).Result()
	return uint64(n), err
}

// AwaitReplicas waits until the primary's replicas have all writes so far, and
// returns how many have, of how many.
func (s *Store) AwaitReplicas(ctx context.Context, limit time.Duration) (have, of int, err error) {
	p, err := s.primary(ctx)
	if err != nil {
		return 0, 0, err
	}
	text, err := p.Info(ctx, "replication").Result()
	if err != nil {
		return 0, 0, err
	}
	if of, err = strconv.Atoi(parseInfo(text)["connected_slaves"]); err != nil || of == 0 {
		return 0, of, err
	}
	have, err = s.await(ctx, p, of, limit)
	return have, of, err
}

// await writes and waits on one connection: WAIT is about the writes of its
// own. It asks in short steps, since a read of the socket has its own timeout.
func (s *Store) await(ctx context.Context, p *redis.Client, of int, limit time.Duration) (int, error) {
	conn := p.Conn()
	defer conn.Close()
	if err := conn.HSet(ctx, s.marker, "replicated", time.Now().UTC().Format(time.RFC3339)).Err(); err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(limit); ; {
		have, err := conn.Wait(ctx, of, 200*time.Millisecond).Result()
		if err != nil || int(have) >= of || time.Now().After(deadline) {
			return int(have), err
		}
	}
}

// Appender sends members in batches of a fixed size, with commands that are
// used again. It is for one goroutine.
type Appender struct {
	store   *Store
	members []string
	scores  []float64
	cmd     *redis.IntCmd
}

// Appender returns one for batches of up to size members.
func (s *Store) Appender(size int) *Appender {
	return &Appender{store: s, members: make([]string, size), scores: make([]float64, size)}
}

// Add sends one batch as one ZADD; a batch of another size than the last one
// costs a new command.
func (a *Appender) Add(ctx context.Context, members []string, scores []float64) error {
	if len(members) > len(a.members) || len(members) != len(scores) {
		return errors.New("add members: batch is too large or uneven")
	}
	copy(a.members, members)
	copy(a.scores, scores)
	if a.cmd == nil || len(a.cmd.Args()) != 2+2*len(members) {
		a.build(ctx, len(members))
	}
	a.cmd.SetErr(nil)
	return a.store.client.cmdable.Process(ctx, a.cmd)
}

func (a *Appender) build(ctx context.Context, n int) {
	args := make([]any, 0, 2+2*n)
	args = append(args, "zadd", a.store.key)
	for i := range n {
		args = append(args, &a.scores[i], &a.members[i])
	}
	a.cmd = redis.NewIntCmd(ctx, args...)
	a.cmd.SetFirstKeyPos(1)
}
