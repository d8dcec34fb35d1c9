// Package populate fills a ranking: exactly its members, each with the score
// that belongs to it, as fast as the server takes them. It knows no driver: it
// works on a Store.
//
//  1. Inspect reads the marker, a small hash in the ranking's slot that says
//     how the ranking was filled, and decides: fill, resume, leave alone, refuse
//     (marker.go). A key that rankbench did not make is never overwritten.
//  2. Fill sends the members in batches over a few connections, in ascending
//     score order, and notes in the marker up to where all of them have
//     arrived, so that a killed fill resumes there (fill.go).
//  3. Verify counts the members, and compares a sample of scores (verify.go).
//
// On the order. A sorted set is a skiplist and a hash table. Sent in ascending
// score order, every member is inserted behind the last one: the search path
// is the same few nodes each time and stays in the processor's cache, so that
// 10 million members take about a third of the time of random order. It has a
// side effect which a reader of the figures should know: nodes are then
// allocated in the order of the list, so that neighbours in rank are
// neighbours in memory, and a range read (FindByOrder) walks memory in
// sequence. A ranking that lived for months has its nodes scattered. Sets of
// the load scatter them again, member by member; `order: random` fills the
// ranking as live traffic would have. Which member has which score is the same
// in both, and has nothing to do with ids: they are permuted.
package populate

import (
	"context"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
)

// Store is what populate needs of the server, safe for concurrent use.
type Store interface {
	// Marker returns the marker's fields, none where there is no marker.
	Marker(ctx context.Context) (map[string]string, error)
	SetMarker(ctx context.Context, fields map[string]string) error
	// Type is the type of the ranking's key: "zset", "none", or another.
	Type(ctx context.Context) (string, error)
	Card(ctx context.Context) (int64, error)
	// Clear removes ranking and marker.
	Clear(ctx context.Context) error
	// Scores returns the members' scores; ok[i] is false where one is not there.
	Scores(ctx context.Context, members []string) (scores []float64, ok []bool, err error)
	DatasetMemory(ctx context.Context) (uint64, error)
	MemoryUsage(ctx context.Context) (uint64, error)
	// AwaitReplicas waits until the replicas have all writes so far.
	AwaitReplicas(ctx context.Context, limit time.Duration) (have, of int, err error)
}

// Appender adds members; each is used by one goroutine.
type Appender interface {
	Add(ctx context.Context, members []string, scores []float64) error
}

// Options say how to fill.
type Options struct {
	Ranking     *ranking.Ranking
	Random      bool                    // send in random instead of ascending score order
	Force       bool                    // fill again what is right already or was filled otherwise
	Appender    func(size int) Appender // one for each connection
	Connections int                     // in parallel; 0 is DefaultConnections
	Progress    func(done, of int64)    // told now and then, and at the end; may be nil
}

// DefaultConnections keeps one batch on its way while another is inserted and
// a third is being made; the server inserts in one thread anyway.
const DefaultConnections = 4

// Report is what Populate did and found.
type Report struct {
	Members       int64   `json:"members"`
	AlreadyRight  bool    `json:"already_right"` // nothing was sent
	ResumedAt     int64   `json:"resumed_at"`    // members that were there before; 0 for a new fill
	Seconds       float64 `json:"seconds"`
	MembersPerSec float64 `json:"members_per_second"`
	Sampled       int     `json:"sampled"` // scores compared
	// BytesPerMember is the growth of used_memory_dataset by member; 0 where unknown
	// (the server was restarted in between). MemoryUsagePerMember is MEMORY USAGE by member.
	BytesPerMember       float64 `json:"bytes_per_member"`
	MemoryUsagePerMember float64 `json:"memory_usage_per_member"`
	Replicas             int     `json:"replicas"`        // that have everything
	ReplicasWanted       int     `json:"replicas_wanted"` // that the primary has
}

// replicaLimit bounds the wait for the replicas after a fill.
const replicaLimit = 2 * time.Minute

// Populate makes the ranking right, and says what it took.
func Populate(ctx context.Context, s Store, o Options) (Report, error) {
	st, err := inspect(ctx, s, o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Members: o.Ranking.Members, AlreadyRight: st.complete, ResumedAt: st.next}
	if !st.complete {
		if err := fillAndMark(ctx, s, o, &st, &r); err != nil {
			return r, err
		}
	}
	if r.Sampled, err = verify(ctx, s, o.Ranking, !st.complete); err != nil {
		return r, err
	}
	if r.Replicas, r.ReplicasWanted, err = s.AwaitReplicas(ctx, replicaLimit); err != nil {
		return r, err
	}
	return r, measureMemory(ctx, s, st, &r)
}

func fillAndMark(ctx context.Context, s Store, o Options, st *state, r *Report) error {
	began := time.Now()
	if err := fill(ctx, s, o, st); err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	r.MembersPerSec = float64(o.Ranking.Members-r.ResumedAt) / r.Seconds
	return nil
}

// measureMemory fills in the bytes per member.
func measureMemory(ctx context.Context, s Store, st state, r *Report) error {
	usage, err := s.MemoryUsage(ctx)
	if err != nil {
		return err
	}
	r.MemoryUsagePerMember = float64(usage) / float64(r.Members)
	if st.complete {
		r.BytesPerMember = st.bytesPerMember
		return nil
	}
	used, err := s.DatasetMemory(ctx)
	if err != nil {
		return err
	}
	if used > st.datasetBefore && st.datasetBefore > 0 {
		r.BytesPerMember = float64(used-st.datasetBefore) / float64(r.Members)
	}
	return s.SetMarker(ctx, completeFields(r.BytesPerMember))
}
