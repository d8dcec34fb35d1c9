//go:build browser

package page

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

var tenHoursOnce struct {
	sync.Once
	page []byte
}

// tenHours is the page of a made-up run of ten hours, which takes a while to make.
func tenHours(t *testing.T) []byte {
	t.Helper()
	tenHoursOnce.Do(func() {
		m := made{seconds: 36000, nodes: 4, ops: usual, scenario: "ten hours", class: "refused", words: "Test Failover API called"}
		began := time.Now()
		tenHoursOnce.page = m.page(t)
		t.Logf("the page of ten hours took %s to make", time.Since(began))
	})
	return tenHoursOnce.page
}

func TestTenHoursAreSmallAndKeepTheirExtremes(t *testing.T) {
	page := tenHours(t)
	t.Logf("ten hours are %d kB", len(page)/1000)
	if len(page) > 5_000_000 {
		t.Errorf("the page of ten hours is %d bytes", len(page))
	}
	for _, l := range parse(t, page).model(t).Lanes {
		for _, panel := range l.Panels {
			for _, s := range panel.Series {
				if len(s.V) > maxPoints || len(s.Lo) != len(s.V) || len(s.Hi) != len(s.V) {
					t.Errorf("%s %s has %d points, %d minima, %d maxima", l.ID, s.Name, len(s.V), len(s.Lo), len(s.Hi))
				}
			}
		}
		switch l.ID {
		case "rps": // the twenty seconds without a success, and the best second
			checkExtreme(t, l.Panels[0].Series[0], 0, 45+12*10)
		case "errors":
			checkExtreme(t, l.Panels[0].Series[0], 0, 7*4)
		}
	}
}

func checkExtreme(t *testing.T, s Series, least, greatest float64) {
	t.Helper()
	lo, hi := s.Lo[0], s.Hi[0]
	for i := range s.Lo {
		lo, hi = min(lo, s.Lo[i]), max(hi, s.Hi[i])
	}
	if lo != least || hi != greatest {
		t.Errorf("%s goes from %g to %g, want %g to %g", s.Name, lo, hi, least, greatest)
	}
}

// page makes the run's page without writing a folder first, and without a summary
// but for the outage: to read ten hours three times is what takes long.
func (m made) page(t *testing.T) []byte {
	t.Helper()
	b := NewBuilder(m.run())
	m.intervals(t, b.Interval)
	for _, e := range m.events() {
		b.Event(e)
	}
	from, service, client := float64(m.seconds/2), 15.0, 5.0
	sum := result.Summary{Scenario: m.scenario, DurationS: float64(m.seconds), Complete: true, Verdict: "none", Events: m.events(),
		Outages:        []result.Outage{{Op: "set", Phase: m.scenario, FromS: from, ToS: from + 20, DurationS: 20, ServiceS: &service, ClientS: &client}},
		ServiceOutages: []result.ServiceOutage{{What: "write", FromS: from, ToS: from + 15, DurationS: 15}}}
	var page bytes.Buffer
	doc, err := newDocument(newHead(m.run(), sum), b.Model(sum))
	must(t, err)
	must(t, write(&page, doc))
	return page.Bytes()
}
