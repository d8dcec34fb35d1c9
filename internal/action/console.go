package action

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/result"
)

// Source is that of the console's events.
const Source = "elasticache"

// overlap is how far back each look at the events reaches: new ones may show up
// late, and before ones that were seen already.
const overlap = 5 * time.Minute

// Entry is an event and what it means.
type Entry struct {
	Event aws.Event
	Fact  aws.Fact
}

// Console reads the events of a group while something goes on.
type Console struct {
	client *aws.Client
	group  aws.Group
	from   time.Time // by our clock
	offset func(time.Time) float64
	tell   func(result.Event)
	note   func(format string, a ...any)

	mu   sync.Mutex
	seen []Entry
}

// NewConsole makes a console that has read nothing yet. offset is a time of AWS as seconds since the run's
// start; tell is called once for each event, note when AWS cannot be asked.
func NewConsole(c *aws.Client, g aws.Group, offset func(time.Time) float64, tell func(result.Event), note func(string, ...any)) *Console {
	return &Console{client: c, group: g, from: time.Now(), offset: offset, tell: tell, note: note}
}

// Prime reads what has happened before, and tells nothing of it.
func (c *Console) Prime(ctx context.Context) error { return c.look(ctx, true) }

// Run looks every so often, until ctx ends. It returns after a last look.
func (c *Console) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		err := c.look(ctx, false)
		switch {
		case ctx.Err() != nil:
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			_ = c.look(last, false)
			return
		case err != nil && !failing:
			c.note("the events cannot be read: %v; trying again", err)
		case err == nil && failing:
			c.note("the events can be read again")
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// lastLook bounds the look after the end.
const lastLook = 5 * time.Second

func (c *Console) look(ctx context.Context, quiet bool) error {
	skew, within, _ := c.client.Skew()
	began := c.from.Add(skew - within - overlap)
	from := time.Now().Add(skew - overlap)
	if from.Before(began) {
		from = began
	}
	events, err := c.client.Events(ctx, from, time.Time{})
	for _, e := range events {
		if c.group.Owns(e) && c.enter(e) && !quiet {
			c.tell(result.Event{AtS: c.offset(e.At), Source: Source, Subject: e.Subject, Message: e.Message})
		}
	}
	return err
}

// enter remembers an event, and tells whether it is new.
func (c *Console) enter(e aws.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.seen, func(s Entry) bool { return s.Event == e }) {
		return false
	}
	c.seen = append(c.seen, Entry{e, aws.Read(e)})
	return true
}

// Since lists the events from a time of our clock on, in the order in which they
// were seen.
func (c *Console) Since(t time.Time) []Entry {
	skew, within, _ := c.client.Skew()
	from := t.Add(skew - within - time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Entry
	for _, s := range c.seen {
		if !s.Event.At.Before(from) {
			out = append(out, s)
		}
	}
	return out
}

// Has tells whether there is an event from t on that means what is wanted.
func (c *Console) Has(t time.Time, wanted func(aws.Fact) bool) bool {
	return slices.ContainsFunc(c.Since(t), func(s Entry) bool { return wanted(s.Fact) })
}
