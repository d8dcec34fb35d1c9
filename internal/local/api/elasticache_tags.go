package api

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// tagged is the result of a call that answers with the tags, sorted by key.
func tagged(tags map[string]string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	result := xmlTags{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		result.Tags = append(result.Tags, xmlTag{key, tags[key]})
	}
	return result, nil
}

func (h *handler) listTags(_ context.Context, c *call) (any, error) {
	arn := c.args.arn("ResourceName")
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return tagged(h.plane.Tags(arn))
}

func (h *handler) addTags(_ context.Context, c *call) (any, error) {
	arn, tags := c.args.arn("ResourceName"), c.args.tags()
	if len(tags) == 0 {
		c.args.missing("Tags")
	}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return tagged(h.plane.AddTags(arn, tags))
}

func (h *handler) removeTags(_ context.Context, c *call) (any, error) {
	arn, keys := c.args.arn("ResourceName"), c.args.texts("TagKeys", "member")
	if len(keys) == 0 {
		c.args.missing("TagKeys")
	}
	if err := c.args.err(); err != nil {
		return nil, err
	}
	return tagged(h.plane.RemoveTags(arn, keys))
}

// arn is a required ARN of ElastiCache: arn:partition:elasticache:region:account:kind:id.
func (a args) arn(name string) string {
	arn := a.required(name)
	if parts := strings.Split(arn, ":"); arn != "" && (len(parts) != 7 || parts[0] != "arn" || parts[2] != "elasticache") {
		a.fault(refuse(codeInvalidARN, "%q is not an ARN of ElastiCache.", shown(arn)))
	}
	return arn
}

// The longest key and value of a tag. Source: "Tagging your ElastiCache
// resources" of the user guide.
const (
	tagKeyLimit   = 128
	tagValueLimit = 256
)

// tags is the list Tags; of a key that comes twice the last counts.
func (a args) tags() map[string]string {
	var tags map[string]string
	for _, tag := range a.structures("Tags", "Tag") {
		key, value := tag.required("Key"), tag.text("Value")
		if len(key) > tagKeyLimit || len(value) > tagValueLimit {
			tag.invalid("Key", raw(key), "at most 128 bytes, its value 256")
		}
		if tags == nil {
			tags = map[string]string{}
		}
		tags[key] = value
	}
	return tags
}
