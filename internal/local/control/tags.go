package control

import (
	"maps"
	"strings"
)

// maxTags is AWS's limit for a resource.
const maxTags = 50

// Tags lists the tags of a group or a cache cluster, by its ARN. A cache
// cluster has its group's.
func (p *Plane) Tags(arn string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.byARN(arn)
	if err != nil {
		return nil, err
	}
	return maps.Clone(g.in.Tags), nil
}

// AddTags adds tags, or gives those that are there a new value.
func (p *Plane) AddTags(arn string, tags map[string]string) (map[string]string, error) {
	return p.changeTags(arn, func(all map[string]string) error {
		maps.Copy(all, tags)
		if len(all) > maxTags {
			return refuse("TagQuotaPerResourceExceeded", "A resource has at most %d tags.", maxTags)
		}
		return nil
	})
}

// RemoveTags removes tags by their keys; those that are not there are no error on AWS either.
func (p *Plane) RemoveTags(arn string, keys []string) (map[string]string, error) {
	return p.changeTags(arn, func(all map[string]string) error {
		for _, k := range keys {
			delete(all, k)
		}
		return nil
	})
}

func (p *Plane) changeTags(arn string, change func(map[string]string) error) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.byARN(arn)
	if err != nil {
		return nil, err
	}
	if g.status != Available {
		return nil, refuse(CodeGroupState, "Cluster not in available state to perform tagging operations.")
	}
	tags := maps.Clone(g.in.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	if err := change(tags); err != nil {
		return nil, err
	}
	g.in.Tags = tags
	return maps.Clone(tags), nil
}

// byARN finds the group that an ARN means. The caller holds mu.
func (p *Plane) byARN(arn string) (*group, error) {
	name := arn[strings.LastIndex(arn, ":")+1:]
	switch arn {
	case p.groupARN(name):
		return p.find(name)
	case p.clusterARN(name):
		if g, m := p.findMember(name); m != nil {
			return g, nil
		}
		return nil, refuse(CodeClusterNotFound, "%s is either not present or not available.", arn)
	}
	return nil, refuse("InvalidARN", "%s is no ARN of a replication group or cache cluster here.", arn)
}
