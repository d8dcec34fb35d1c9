package observe

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// cells counts the probe's answers. It is safe for concurrent use.
type cells struct {
	names []string // in the order in which they are cut

	mu     sync.Mutex
	counts map[string]*count
}

// count is one cell since the last cut.
type count struct {
	asked  uint64
	okAt   map[uint64]uint32 // by bucket
	errors map[string]uint64 // by class
}

func newCells(endpoints []Endpoint) *cells {
	c := &cells{names: []string{cellWrite, cellRead, cellReadPrimary}}
	for _, e := range endpoints {
		if !slices.Contains(c.names, e.Name) {
			c.names = append(c.names, e.Name)
		}
	}
	c.counts = c.empty()
	return c
}

func (c *cells) empty() map[string]*count {
	counts := map[string]*count{}
	for _, name := range c.names {
		counts[name] = &count{okAt: map[uint64]uint32{}}
	}
	return counts
}

// record counts a question that was answered, or given up, at an offset.
func (c *cells) record(name string, at time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts[name]
	n.asked++
	if err == nil {
		n.okAt[uint64(max(0, at)/result.BucketWidth)]++
		return
	}
	if n.errors == nil {
		n.errors = map[string]uint64{}
	}
	n.errors[class(err)]++
}

func (c *cells) cut() []result.ProbeCell {
	c.mu.Lock()
	counts := c.counts
	c.counts = c.empty()
	c.mu.Unlock()
	out := make([]result.ProbeCell, len(c.names))
	for i, name := range c.names {
		n := counts[name]
		out[i] = result.ProbeCell{Name: name, OKAt: seriesOf(n.okAt), Asked: n.asked, Errors: n.errors}
	}
	return out
}

func seriesOf(at map[uint64]uint32) result.Series {
	if len(at) == 0 {
		return result.Series{}
	}
	buckets := slices.Sorted(maps.Keys(at))
	s := result.Series{From: buckets[0], N: make([]uint32, buckets[len(buckets)-1]-buckets[0]+1)}
	for b, n := range at {
		s.N[b-s.From] = n
	}
	return s
}
