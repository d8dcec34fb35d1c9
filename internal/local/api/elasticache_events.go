package api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// Source of both: API_DescribeEvents of the ElastiCache API reference.
const (
	eventRetention = 14 * 24 * time.Hour
	eventWindow    = time.Hour // if no other is asked for
)

// sourceTypes are the kinds of sources that AWS knows. Of most there are none
// here, hence no events.
var sourceTypes = [...]string{
	"cache-cluster", "cache-parameter-group", "cache-security-group", "cache-subnet-group", "replication-group",
	"serverless-cache", "serverless-cache-snapshot", "user", "user-group",
}

func (h *handler) describeEvents(_ context.Context, c *call) (any, error) {
	page, filter := c.args.page(), eventFilter(c)
	if err := c.args.err(); err != nil {
		return nil, err
	}
	events := h.plane.Events(filter)
	result := xmlEvents{}
	if len(events) > page.size {
		events = events[:page.size]
		result.Marker = strconv.FormatUint(events[page.size-1].Seq, 10)
	}
	for _, e := range events {
		result.Events = append(result.Events, xmlEvent{e.SourceID, e.Source, e.Message, stamp(e.Date)})
	}
	return result, nil
}

func eventFilter(c *call) control.EventFilter {
	f := control.EventFilter{Source: c.args.text("SourceType"), SourceID: c.args.id("SourceIdentifier")}
	if f.Source != "" && !slices.Contains(sourceTypes[:], f.Source) {
		c.args.invalid("SourceType", raw(f.Source), "one of "+strings.Join(sourceTypes[:], ", "))
	}
	if f.SourceID != "" && f.Source == "" {
		c.args.fault(refuse(codeParameterMix, "The parameter SourceType must be provided with SourceIdentifier."))
	}
	f.From, f.To = eventTimes(c)
	f.Before = eventMarker(c.args)
	return f
}

// eventTimes is the window that StartTime, EndTime and Duration span; what is not
// given of it follows from the rest, without an end it is open.
func eventTimes(c *call) (from, to time.Time) {
	from, to = c.args.instant("StartTime"), c.args.instant("EndTime")
	length := eventWindow
	if minutes := c.args.whole("Duration"); minutes != nil {
		length = duration(c.args, *minutes)
	}
	switch {
	case from.IsZero() && to.IsZero():
		from = c.at.Add(-length)
	case from.IsZero():
		from = to.Add(-length)
	case to.IsZero() && c.args.has("Duration"):
		to = from.Add(length)
	case !to.IsZero() && to.Before(from):
		c.args.fault(refuse(codeParameterMix, "The parameter StartTime must not be after EndTime."))
	}
	if oldest := c.at.Add(-eventRetention); from.Before(oldest) {
		from = oldest
	}
	return from, to
}

func duration(a args, minutes int) time.Duration {
	if minutes < 0 {
		a.invalid("Duration", raw(strconv.Itoa(minutes)), "a number of minutes")
	}
	return min(time.Duration(minutes)*time.Minute, eventRetention)
}

// eventMarker is the Seq below which the next page begins.
func eventMarker(a args) uint64 {
	marker := a.text("Marker")
	if marker == "" {
		return 0
	}
	seq, err := strconv.ParseUint(marker, 10, 64)
	if err != nil || seq == 0 {
		a.invalid("Marker", raw(marker), "one of an answer before")
	}
	return seq
}
