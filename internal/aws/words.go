package aws

import (
	"regexp"
	"strconv"
)

// Kind is what an event is about.
type Kind string

// The kinds of events. All others are Unknown, and are shown as they are.
const (
	Unknown            Kind = ""
	FailoverCalled     Kind = "failover called"       // Shard
	FailedOver         Kind = "failed over"           // To, and From where it is said; up to three times for one failover
	RecoveryStarted    Kind = "recovery started"      // Node
	RecoveryFinished   Kind = "recovery finished"     // Node
	ReplicasIncreasing Kind = "replicas increasing"   // Group
	ReplicasIncreased  Kind = "replicas increased"    // Group
	IncreaseFailed     Kind = "increase failed"       // Group
	ReplicasDecreasing Kind = "replicas decreasing"   // Group
	ReplicasDecreased  Kind = "replicas decreased"    // Group
	DecreaseRefused    Kind = "decrease refused"      // Group, and Node: the primaries that were to be removed
	DecreaseFailed     Kind = "decrease failed"       // Group
	NodeCreated        Kind = "node created"          // Node
	NodeAdded          Kind = "node added"            // Node, Zone
	NodeRemoved        Kind = "node removed"          // Node
	SlotsMoved         Kind = "slots moved"           // Slots, Of, From, To: shards
	NodeShutDown       Kind = "node shut down"        // Node
	NodeRestarted      Kind = "node restarted"        // Node
	NodePatched        Kind = "node patched"          // Node
	GroupCreated       Kind = "group created"         // Group
	GroupFailed        Kind = "group failed"          // Group: it could not be created
	FailoverTurnedOn   Kind = "automatic failover on" // Group
)

// Fact is what an event says. Which fields are set is said at its Kind.
type Fact struct {
	Kind     Kind
	Group    string
	Node     string
	Shard    string
	From, To string
	Zone     string
	Slots    int
	Of       int
}

// sentence is a wording and what it means. The names of its groups are those of
// Fact's fields.
type sentence struct {
	kind  Kind
	words *regexp.Regexp
}

// sentences are the wordings of AWS: of its API reference, of the older
// revisions of its page on SNS messages, and of logs that people have published
// (2020 to 2025). They have changed over the years, and one failover may be told
// in two of them.
var sentences = [...]sentence{
	{FailoverCalled, regexp.MustCompile(`^Test Failover API called for node group (?P<Shard>\S+?)\.?$`)},
	{FailedOver, regexp.MustCompile(`^Failover (?:from (?:primary|master) node (?P<From>\S+) )?to replica node (?P<To>\S+) completed\.?$`)},
	{RecoveryStarted, regexp.MustCompile(`^(?:Recovering|Started recovery for) cache nodes? .+$`)},
	{RecoveryFinished, regexp.MustCompile(`^(?:Finished recovery for cache nodes? .+|Recovery completed.*)$`)},
	{ReplicasIncreasing, regexp.MustCompile(`(?i)^Increase replica count (?:operation |request )?(?:approved and )?started for replication group (?P<Group>\S+?)(?: on \S+|\.)?$`)},
	{ReplicasIncreased, regexp.MustCompile(`(?i)^Increase replica count (?:operation )?completed for replication group (?P<Group>\S+?)(?: on \S+|\.)?$`)},
	{IncreaseFailed, regexp.MustCompile(`(?i)^Increase replica count (?:operation )?failed\b(?:.*\bfor replication group (?P<Group>\S+?)(?: on \S+|\.)?)?$`)},
	{ReplicasDecreasing, regexp.MustCompile(`(?i)^Decrease replica count (?:operation |request )?(?:approved and )?started for replication group (?P<Group>\S+?)(?: on \S+|\.)?$`)},
	{ReplicasDecreased, regexp.MustCompile(`(?i)^Decrease replica count (?:operation )?completed for replication group (?P<Group>\S+?)(?: on \S+|\.)?$`)},
	{DecreaseRefused, regexp.MustCompile(`(?i)^Decrease replica count (?:operation )?failed because the request included deletion of one or more (?:masters|primaries): (?P<Node>.+?) for replication group (?P<Group>\S+?)(?: on \S+|\.)?$`)},
	{DecreaseFailed, regexp.MustCompile(`(?i)^Decrease replica count (?:operation )?failed\b(?:.*\bfor replication group (?P<Group>\S+?)(?: on \S+|\.)?)?$`)},
	{NodeCreated, regexp.MustCompile(`^Cache cluster created$`)},
	{NodeAdded, regexp.MustCompile(`^Added cache nodes? \S+ in availability zone (?P<Zone>\S+)$`)},
	{NodeRemoved, regexp.MustCompile(`^(?:Removed cache nodes? .+|Cache cluster deleted)$`)},
	{SlotsMoved, regexp.MustCompile(`^Moved a total of (?P<Slots>\d+) slots out of (?P<Of>\d+) slots from shard (?P<From>\S+) to shard (?P<To>\S+?)\.?$`)},
	{NodeShutDown, regexp.MustCompile(`^Cache node \S+ shutdown$`)},
	{NodeRestarted, regexp.MustCompile(`^Cache node \S+ restarted$`)},
	{NodePatched, regexp.MustCompile(`^Cache cluster patched$`)},
	{GroupCreated, regexp.MustCompile(`^Replication group (?P<Group>\S+) created$`)},
	{GroupFailed, regexp.MustCompile(`^Failed to create replication group (?P<Group>\S+) due to .+$`)},
	{FailoverTurnedOn, regexp.MustCompile(`^Automatic failover has been turned on for replication group (?P<Group>\S+)$`)},
}

// Read tells what e means. A message that is in none of the known wordings is
// Unknown; Node or Group is its subject all the same.
func Read(e Event) Fact {
	f := Fact{}
	switch e.SourceType {
	case sourceGroup:
		f.Group = e.Subject
	case sourceNode:
		f.Node = e.Subject
	}
	for _, s := range sentences {
		if found := s.words.FindStringSubmatch(e.Message); found != nil {
			f.Kind = s.kind
			f.fill(s.words.SubexpNames(), found)
			return f
		}
	}
	return f
}

func (f *Fact) fill(names, found []string) {
	text := map[string]*string{"Group": &f.Group, "Node": &f.Node, "Shard": &f.Shard, "From": &f.From, "To": &f.To, "Zone": &f.Zone}
	number := map[string]*int{"Slots": &f.Slots, "Of": &f.Of}
	for i, name := range names {
		if into := text[name]; into != nil && found[i] != "" {
			*into = found[i]
		}
		if into := number[name]; into != nil {
			*into, _ = strconv.Atoi(found[i]) // digits, by its expression
		}
	}
}
