package metrics

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Store is what is known of all nodes. Its methods may be called concurrently.
type Store struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the sampler has ended
	reader reader
	table  []metric

	mu     sync.RWMutex
	series map[string]*series // by cache cluster id
	closed int64              // minutes since the epoch: those before are over and added up; 0: nothing was seen yet
}

// series is what is known of one node.
type series struct {
	seconds, minutes ring
	last             *look
	latest           int64 // the last second in which it answered
	has              []bool
}

// Metrics lists the series that have a value, by cache cluster and name. Each of
// them is there with the dimension CacheNodeId and without it.
func (s *Store) Metrics() []Metric {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Metric
	for id, n := range s.series {
		for i, m := range s.table {
			if n.has[i] {
				out = append(out, Metric{Name: m.name, CacheClusterID: id, NodeDimension: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(a.CacheClusterID, b.CacheClusterID), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Points returns the statistics of each period that begins in [From, To) and has
// a sample, in order of time. A series that is not known has none, and so has a
// minute that is not over. The error is that there is no such period.
func (s *Store) Points(q Query) ([]Point, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, i := s.series[q.CacheClusterID], s.metric(q.Name)
	if n == nil || i < 0 {
		return nil, nil
	}
	r, step := &n.seconds, time.Second
	if q.Period >= time.Minute {
		r, step = &n.minutes, time.Minute
	}
	first, end := r.bounds()
	return fold(q, step, first, end, func(slot int64) float64 {
		if row := r.at(slot); row != nil {
			return s.table[i].of(row)
		}
		return math.NaN()
	}), nil
}

func (s *Store) metric(name string) int {
	return slices.IndexFunc(s.table, func(m metric) bool { return m.name == name })
}

// take adds an answer of a node to a second.
func (s *Store) take(id string, second int64, l *look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.series[id]
	if n == nil {
		n = &series{seconds: newRing(keptSeconds), minutes: newRing(keptMinutes), has: make([]bool, len(s.table))}
		s.series[id] = n
	}
	r := l.since(n.last)
	n.last, n.latest = l, second
	n.seconds.add(second, &r)
	for i, m := range s.table {
		n.has[i] = n.has[i] || !math.IsNaN(m.of(&r))
	}
}

// closeMinutes adds up the minutes that are over at a second since the epoch,
// and drops nodes of which nothing is left.
func (s *Store) closeMinutes(second int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := second / 60
	if s.closed == 0 {
		s.closed = over - 1 // the first answers may be of the second before
	}
	for ; s.closed < over; s.closed++ {
		for id, n := range s.series {
			n.closeMinute(s.closed)
			if s.closed-n.latest/60 > keptMinutes {
				delete(s.series, id)
			}
		}
	}
}

func (n *series) closeMinute(minute int64) {
	total := emptyRow()
	for second := minute * 60; second < (minute+1)*60; second++ {
		if r := n.seconds.at(second); r != nil {
			total.add(r)
		}
	}
	if !total.empty() {
		n.minutes.add(minute, &total)
	}
}
