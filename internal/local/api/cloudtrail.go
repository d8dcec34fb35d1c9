package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// cloudTrail is LookupEvents, over the calls that changed something. Source: the
// service model of API version 2013-11-01.
func (h *handler) cloudTrail() *service {
	return &service{
		target:  "CloudTrail_20131101",
		json:    "1.1",
		dialect: dialect{codeLookup, "The parameter %s is required.", codeLookup},
		actions: map[string]action{"LookupEvents": {do: h.lookupEvents}},
	}
}

// Refusals of LookupEvents.
const (
	codeLookup      = "InvalidLookupAttributesException"
	codeTimeRange   = "InvalidTimeRangeException"
	codeMaxResults  = "InvalidMaxResultsException"
	codeLookupToken = "InvalidNextTokenException"
	codeCategory    = "InvalidEventCategoryException"
)

const lookupPage = 50

// lookupInput is LookupEventsInput.
type lookupInput struct {
	key, value string // the one attribute allowed; "" = all
	from, to   time.Time
	size       int
	after      string // id of the last event of the page before
	insight    bool   // events of that category, of which there are none
}

func (h *handler) lookupEvents(_ context.Context, c *call) (any, error) {
	in := readLookupInput(c.args)
	if err := c.args.err(); err != nil {
		return nil, err
	}
	calls, err := in.rest(h.plane.Calls())
	if err != nil {
		return nil, err
	}
	calls = slices.DeleteFunc(calls, func(call control.Call) bool { return !in.wants(call) })
	next := ""
	if len(calls) > in.size {
		calls = calls[:in.size]
		next = token(calls[in.size-1].ID)
	}
	events, err := h.trailEvents(calls)
	return record{{"Events", events}}.with("NextToken", next), err
}

func readLookupInput(a args) lookupInput {
	in := lookupInput{from: a.instant("StartTime"), to: a.instant("EndTime")}
	if !in.from.IsZero() && !in.to.IsZero() && in.to.Before(in.from) {
		a.fault(refuse(codeTimeRange, "The end time is before the start time."))
	}
	in.key, in.value = readAttribute(a)
	in.size = readMaxResults(a)
	in.after = readLookupToken(a)
	in.insight = readCategory(a)
	return in
}

func readMaxResults(a args) int {
	n := a.whole("MaxResults")
	if n == nil {
		return lookupPage
	}
	if *n < 1 || *n > lookupPage {
		a.fault(refuse(codeMaxResults, "MaxResults must be between 1 and %d, not %d.", lookupPage, *n))
	}
	return *n
}

func readLookupToken(a args) string {
	text := a.text("NextToken")
	if text == "" {
		return ""
	}
	parts, ok := openToken(text, 1)
	if !ok || parts[0] == "" {
		a.fault(invalidLookupToken())
	}
	return parts[0]
}

func invalidLookupToken() *control.Error {
	return refuse(codeLookupToken, "The NextToken is invalid.")
}

func readCategory(a args) bool {
	category := a.text("EventCategory")
	if category != "" && category != "insight" {
		a.fault(refuse(codeCategory, "The event category %q is invalid.", shown(category)))
	}
	return category == "insight"
}

// attributeKeys are what events can be looked up by.
var attributeKeys = [...]string{
	"EventId", "EventName", "EventSource", "ResourceName", "ResourceType", "ReadOnly", "Username", "AccessKeyId", "AWSServiceName",
}

func readAttribute(a args) (key, value string) {
	attributes := a.structures("LookupAttributes", "member")
	if len(attributes) == 0 {
		return "", ""
	}
	if len(attributes) > 1 {
		a.fault(refuse(codeLookup, "There can be only one lookup attribute."))
	}
	key, value = attributes[0].required("AttributeKey"), attributes[0].required("AttributeValue")
	if !slices.Contains(attributeKeys[:], key) {
		a.fault(refuse(codeLookup, "The attribute key %q is invalid.", shown(key)))
	}
	return key, value
}

// rest are the calls that come after the last one of the page before, newest
// first; calls that were made in between do not shift the pages.
func (in lookupInput) rest(calls []control.Call) ([]control.Call, error) {
	if in.after == "" {
		return slices.Clone(calls), nil
	}
	i := slices.IndexFunc(calls, func(c control.Call) bool { return c.ID == in.after })
	if i < 0 {
		return nil, invalidLookupToken()
	}
	return slices.Clone(calls[i+1:]), nil
}

func (in lookupInput) wants(c control.Call) bool {
	if in.insight || !in.from.IsZero() && c.Time.Before(in.from) || !in.to.IsZero() && c.Time.After(in.to) {
		return false
	}
	switch in.key {
	case "EventId":
		return c.ID == in.value
	case "EventName":
		return c.Name == in.value
	case "EventSource":
		return in.value == eventSource
	case "AWSServiceName":
		return in.value == eventSource || in.value == strings.TrimSuffix(eventSource, ".amazonaws.com")
	case "ResourceName":
		return c.Resource != "" && c.Resource == in.value
	case "ResourceType":
		return c.Resource != "" && resourceType(c) == in.value
	case "ReadOnly":
		return in.value == "false"
	case "Username":
		return in.value == userName
	case "AccessKeyId":
		return in.value == accessKeyID
	}
	return true
}

const eventSource = "elasticache.amazonaws.com"

func resourceType(c control.Call) string {
	if c.Parameters["CacheClusterId"] != "" || strings.Contains(c.Parameters["ResourceName"], ":cluster:") {
		return "AWS::ElastiCache::CacheCluster"
	}
	return "AWS::ElastiCache::ReplicationGroup"
}

func (h *handler) trailEvents(calls []control.Call) ([]any, error) {
	events := make([]any, 0, len(calls))
	for _, c := range calls {
		document, err := json.Marshal(h.trailDocument(c))
		if err != nil {
			return nil, err
		}
		events = append(events, trailEvent(c, string(document)))
	}
	return events, nil
}

func trailEvent(c control.Call, document string) record {
	resources := []any{}
	if c.Resource != "" {
		resources = append(resources, record{{"ResourceType", resourceType(c)}, {"ResourceName", c.Resource}})
	}
	return record{
		{"EventId", c.ID},
		{"EventName", c.Name},
		{"ReadOnly", "false"},
		{"AccessKeyId", accessKeyID},
		{"EventTime", c.Time},
		{"EventSource", eventSource},
		{"Username", userName},
		{"Resources", resources},
		{"CloudTrailEvent", document},
	}
}
