package metrics

import "math"

// column is one figure of a row.
type column int

// Counters: by how much they grew. Calls of a class of commands are followed by
// the microseconds that they took.
const (
	getCalls column = iota
	getMicros
	setCalls
	setMicros
	sortedSetCalls
	sortedSetMicros
	hashCalls
	hashMicros
	stringCalls
	stringMicros
	keyCalls
	keyMicros
	hits
	misses
	netIn
	netOut
	newConnections
	evicted
	expired
	replicated // bytes; only of a primary
	cpuSeconds
	elapsedSeconds // between the two answers
	counters       // how many counters there are

	// Gauges: as they were at last.
	lagSeconds column = iota - 1
	linkUp
	isPrimary
	connections
	items
	usedBytes
	usedPercent
	columns // how many columns there are
)

// row is what is known of one node in one second or one minute; NaN is what is not.
type row [columns]float64

func emptyRow() row {
	var r row
	for c := range r {
		r[c] = math.NaN()
	}
	return r
}

func (r *row) empty() bool {
	for _, v := range r {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// add takes a later row in: counters add up, of gauges the last one stays.
func (r *row) add(later *row) {
	for c, v := range later {
		switch {
		case math.IsNaN(v):
		case column(c) < counters && !math.IsNaN(r[c]):
			r[c] += v
		default:
			r[c] = v
		}
	}
}
