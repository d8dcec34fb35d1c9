package aws

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail/types"
)

// TrailEvent is a call that somebody has made, as CloudTrail has it.
type TrailEvent struct {
	At        time.Time // whole seconds
	ID        string
	Name      string // TestFailover
	User      string
	Resources []string // names of groups and nodes
	RequestID string
	ErrorCode string // "" = it was accepted
}

// lookupsApart is the time between two calls of LookupEvents: AWS allows two a
// second, in all of the account.
const lookupsApart = 500 * time.Millisecond

// Trail lists the calls to ElastiCache since from that change something, oldest
// first. CloudTrail is some minutes late. All calls are asked for, those that
// only read among them, since an account's can be looked up by one attribute
// only.
func (c *Client) Trail(ctx context.Context, from time.Time) ([]TrailEvent, error) {
	in := &cloudtrail.LookupEventsInput{LookupAttributes: []types.LookupAttribute{{
		AttributeKey: types.LookupAttributeKeyEventSource, AttributeValue: aws.String("elasticache.amazonaws.com"),
	}}}
	if !from.IsZero() {
		in.StartTime = &from
	}
	var all []TrailEvent
	pages := cloudtrail.NewLookupEventsPaginator(c.trail, in)
	for pages.HasMorePages() {
		if err := c.trailPace.wait(ctx); err != nil {
			return nil, c.explain("look up calls in CloudTrail", err)
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.explain("look up calls in CloudTrail", err)
		}
		for _, e := range page.Events {
			if aws.ToString(e.ReadOnly) != "true" {
				all = append(all, trailEvent(e))
			}
		}
	}
	slices.Reverse(all) // the newest come first
	slices.SortStableFunc(all, func(a, b TrailEvent) int { return a.At.Compare(b.At) })
	return all, nil
}

func trailEvent(e types.Event) TrailEvent {
	out := TrailEvent{At: aws.ToTime(e.EventTime), ID: aws.ToString(e.EventId), Name: aws.ToString(e.EventName), User: aws.ToString(e.Username)}
	for _, r := range e.Resources {
		out.Resources = append(out.Resources, aws.ToString(r.ResourceName))
	}
	var document struct{ RequestID, ErrorCode string } // by any case of their names
	if json.Unmarshal([]byte(aws.ToString(e.CloudTrailEvent)), &document) == nil {
		out.RequestID, out.ErrorCode = document.RequestID, document.ErrorCode
	}
	return out
}

// pace lets one pass at a time, apart by at least a time.
type pace struct {
	apart time.Duration
	state *paceState
}

type paceState struct {
	mu   sync.Mutex
	next time.Time
}

func newPace(apart time.Duration) pace { return pace{apart, &paceState{}} }

// wait returns when it is the caller's turn.
func (p pace) wait(ctx context.Context) error {
	turn := p.state.take(time.Now(), p.apart)
	timer := time.NewTimer(time.Until(turn))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// take gives out the next turn.
func (s *paceState) take(now time.Time, apart time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.next
	if turn.Before(now) {
		turn = now
	}
	s.next = turn.Add(apart)
	return turn
}
