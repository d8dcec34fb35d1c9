package observe

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

func TestCellsAreCutInOrderEvenIfNothingWasAsked(t *testing.T) {
	c := newCells([]Endpoint{{"connect_primary", "a:1"}, {"connect_reader", "b:1"}, {"connect", "c:1"}, {"connect", "d:1"}})
	want := []string{"write", "read", "read_primary", "connect_primary", "connect_reader", "connect"}
	var got []string
	for _, cell := range c.cut() {
		if got = append(got, cell.Name); cell.Asked != 0 || cell.Errors != nil || cell.OKAt.N != nil {
			t.Errorf("%+v", cell)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
}

func TestSuccessesAreInTheirBucketsAlsoOutOfOrder(t *testing.T) {
	c := newCells(nil)
	for _, ms := range []int{1030, 1009, 1034, 1000} {
		c.record(cellWrite, time.Duration(ms)*time.Millisecond, nil)
	}
	c.record(cellWrite, time.Second, errors.New("read tcp 127.0.0.1:4711->127.0.0.1:1: odd"))
	got := c.cut()[0]
	if want := (result.Series{From: 100, N: []uint32{2, 0, 0, 2}}); got.OKAt.From != want.From || !slices.Equal(got.OKAt.N, want.N) {
		t.Errorf("%+v, want %+v", got.OKAt, want)
	}
	if got.Asked != 5 || !maps.Equal(got.Errors, map[string]uint64{"other": 1}) {
		t.Errorf("%+v", got)
	}
}

// TestEveryAnswerIsInExactlyOneCut: Asked = OK + Errors, whoever cuts meanwhile.
func TestEveryAnswerIsInExactlyOneCut(t *testing.T) {
	c := newCells(nil)
	const writers, each = 4, 2000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for range each {
				var err error
				if r.IntN(3) == 0 {
					err = errNotPrimary
				}
				c.record(cellRead, time.Duration(r.Int64N(int64(5*time.Second))), err)
			}
		})
	}
	var asked, ok, failed uint64
	add := func() {
		cell := c.cut()[1]
		o, f := sums(cell)
		if asked, ok, failed = asked+cell.Asked, ok+o, failed+f; cell.Asked != o+f {
			t.Errorf("asked %d, ok %d, errors %d", cell.Asked, o, f)
		}
	}
	for range 20 {
		add()
	}
	wg.Wait()
	add()
	if asked != writers*each || failed == 0 || ok == 0 {
		t.Errorf("asked %d of %d, %d failed", asked, writers*each, failed)
	}
}

func sums(c result.ProbeCell) (ok, failed uint64) {
	for _, n := range c.OKAt.N {
		ok += uint64(n)
	}
	for _, n := range c.Errors {
		failed += n
	}
	return ok, failed
}
