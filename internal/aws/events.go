package aws

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
)

// Event is what the console shows, word for word.
type Event struct {
	At         time.Time `json:"at"`          // by AWS's clock
	Subject    string    `json:"subject"`     // id of a group, a node …
	SourceType string    `json:"source_type"` // replication-group, cache-cluster …
	Message    string    `json:"message"`
}

const (
	sourceGroup = "replication-group"
	sourceNode  = "cache-cluster"
)

// keptFor is how long ElastiCache keeps events; a minute less, since it is
// counted by AWS's clock when the call arrives.
const keptFor = 14*24*time.Hour - time.Minute

// Events lists the events of all groups and nodes of the account in the region,
// by AWS's clock from from (zero, or longer ago than AWS keeps them: all that
// there are) to to (zero: now), oldest first, each once. New events may show up
// late, and before ones that were seen already.
func (c *Client) Events(ctx context.Context, from, to time.Time) ([]Event, error) {
	// both ends are always given: what AWS takes for an end that is not is not documented
	now := c.clock.latest(time.Now())
	if to.IsZero() {
		to = now
	}
	if oldest := now.Add(-keptFor); from.Before(oldest) {
		from = oldest
	}
	var all []Event
	pages := elasticache.NewDescribeEventsPaginator(c.read, &elasticache.DescribeEventsInput{
		StartTime: &from, EndTime: &to, MaxRecords: aws.Int32(pageSize),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.explain("list the events", err)
		}
		for _, e := range page.Events {
			all = append(all, Event{
				At: aws.ToTime(e.Date), Subject: aws.ToString(e.SourceIdentifier),
				SourceType: string(e.SourceType), Message: aws.ToString(e.Message),
			})
		}
	}
	return inOrder(all), nil
}

// inOrder sorts events and drops repetitions. AWS lists the newest first, so of
// those with the same time the last one came first.
func inOrder(all []Event) []Event {
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	type key struct {
		at               int64
		subject, message string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(all, func(e Event) bool {
		k := key{e.At.UnixNano(), e.Subject, e.Message}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// FailoversWithin counts the calls of TestFailover that the events of the last d
// tell of, in the whole account and region: AWS allows 15 in 24 hours, and has
// no call that tells how many are left.
func (c *Client) FailoversWithin(ctx context.Context, d time.Duration) (int, error) {
	all, err := c.Events(ctx, c.clock.earliest(time.Now()).Add(-d), time.Time{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range all {
		if Read(e).Kind == FailoverCalled {
			n++
		}
	}
	return n, nil
}
