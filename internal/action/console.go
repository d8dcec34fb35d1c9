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

// overlap is how far back beyond the last look that worked each look at the events
// reaches: new ones may show up late, and before ones that were seen already.
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

	read time.Time // up to when, by our clock, all was read

	mu   sync.Mutex
	seen []Entry
}

// NewConsole makes a console that has read nothing yet. offset is a time of AWS as seconds since the run's
// start; tell is called once for each event, note when AWS cannot be asked.
func NewConsole(c *aws.Client, g aws.Group, offset func(time.Time) float64, tell func(result.Event), note func(string, ...any)) *Console {
	now := time.Now()
	return &Console{client: c, group: g, from: now, read: now, offset: offset, tell: tell, note: note}
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
			if err := c.look(last, false); err != nil {
				c.note("the last events cannot be read: %v", err)
			}
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

// look reads what is new since the last time that worked. What happened before the
// beginning is not told, however late it shows up.
func (c *Console) look(ctx context.Context, quiet bool) error {
	began := time.Now()
	skew, _, _ := c.client.Skew()
	events, err := c.client.Events(ctx, c.read.Add(skew-overlap), time.Time{})
	if err != nil {
		return err
	}
	c.read = began
	first := c.first(c.from)
	for _, e := range events {
		if c.group.Owns(e) && c.enter(e) && !quiet && !e.At.Before(first) {
			c.tell(result.Event{AtS: c.offset(e.At), Source: Source, Subject: e.Subject, Message: e.Message})
		}
	}
	return nil
}

// first is the earliest time that an event at our time t may have. Events are cut
// to the millisecond.
func (c *Console) first(t time.Time) time.Time {
	skew, within, _ := c.client.Skew()
	return t.Add(skew - within - time.Millisecond)
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

// Mark is a moment in what the console shows.
type Mark struct {
	at   time.Time // by our clock
	seen int       // events until then
}

// Mark is now. What AWS's clock says of an event is not known to better than half
// a second at first; but what is seen already is from before.
func (c *Console) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{time.Now(), len(c.seen)}
}

// Since lists the events from m on, in the order in which they were seen.
func (c *Console) Since(m Mark) []Entry {
	from := c.first(m.at)
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Entry
	for _, s := range c.seen[m.seen:] {
		if !s.Event.At.Before(from) {
			out = append(out, s)
		}
	}
	return out
}

// Has tells whether there is an event from m on that means what is wanted.
func (c *Console) Has(m Mark, wanted func(aws.Fact) bool) bool {
	return slices.ContainsFunc(c.Since(m), func(s Entry) bool { return wanted(s.Fact) })
}
