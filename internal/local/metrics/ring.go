package metrics

// pageRows is how many rows are made at a time: ten minutes of seconds, ten
// hours of minutes.
const pageRows = 600

// What CloudWatch keeps: periods under 60 s for 3 hours, of 60 s for 15 days.
const (
	keptSeconds = 3 * 60 * 60
	keptMinutes = 15 * 24 * 60
)

// ring keeps the latest rows by their slot: seconds or minutes since the epoch.
// What is older makes room. Pages of times without an answer are never made.
//
// A row is 232 bytes and a page 139 kB. A node has 2.7 MB after three hours (19
// pages of seconds) and never more than 7.8 MB, after 15 days (37 of minutes).
type ring struct{ pages []*page }

type page struct {
	number int64 // of slots number*pageRows …
	rows   [pageRows]row
}

// newRing keeps at least the latest size slots.
func newRing(size int) ring { return ring{pages: make([]*page, (size+pageRows-1)/pageRows+1)} }

// at returns the row of a slot, nil if nothing is known of its time.
func (r *ring) at(slot int64) *row {
	number := slot / pageRows
	if number < 0 {
		return nil
	}
	p := r.pages[number%int64(len(r.pages))]
	if p == nil || p.number != number {
		return nil
	}
	return &p.rows[slot%pageRows]
}

// add takes a row into its slot. A slot that has left the ring is not brought back.
func (r *ring) add(slot int64, more *row) {
	number := slot / pageRows
	place := &r.pages[number%int64(len(r.pages))]
	switch {
	case *place == nil || (*place).number < number:
		*place = newPage(number)
	case (*place).number > number:
		return
	}
	(*place).rows[slot%pageRows].add(more)
}

func newPage(number int64) *page {
	p := &page{number: number}
	for i := range p.rows {
		p.rows[i] = emptyRow()
	}
	return p
}

// bounds are the slots that may have rows: [first, end); both 0 if there is none.
func (r *ring) bounds() (first, end int64) {
	for _, p := range r.pages {
		if p == nil {
			continue
		}
		if from := p.number * pageRows; end == 0 || from < first {
			first = from
		}
		end = max(end, (p.number+1)*pageRows)
	}
	return first, end
}
