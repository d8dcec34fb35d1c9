package config

import (
	"net/url"
	"path"
	"regexp"
)

// AWS is which replication group drills change, and how the AWS SDK gets there.
// What is "" is left to the SDK's own chain of environment and shared files.
type AWS struct {
	Group       string // replication group id
	Region      string
	Profile     string   // of the shared config and credentials files
	EndpointURL string   // of all services
	Allow       []string // groups that may be changed, such as lb-staging-*; empty is any
	AllowTag    string   // key=value that a group must have to be changed
}

type awsKeys struct {
	Group       string   `yaml:"replication_group"`
	Region      string   `yaml:"region"`
	Profile     string   `yaml:"profile"`
	EndpointURL string   `yaml:"endpoint_url"`
	Allow       []string `yaml:"allow"`
	AllowTag    string   `yaml:"allow_tag"`
}

var (
	plainRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z0-9]+)+-\d+$`)
	plainTag    = regexp.MustCompile(`^[^=]{1,128}=[^=]{0,256}$`)
)

func (r reader) aws(k awsKeys) AWS {
	if k.Region != "" && !plainRegion.MatchString(k.Region) {
		r.doc.Errorf("aws.region", "%q is not a region, such as us-east-1", k.Region)
	}
	if u, err := url.Parse(k.EndpointURL); k.EndpointURL != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
		r.doc.Errorf("aws.endpoint_url", "is not a URL such as http://127.0.0.1:7000; it holds no user and no password")
	}
	if k.AllowTag != "" && !plainTag.MatchString(k.AllowTag) {
		r.doc.Errorf("aws.allow_tag", "is not key=value, such as rankbench:allow-drill=true")
	}
	if r.doc.Has("aws.allow") && len(k.Allow) == 0 {
		r.doc.Errorf("aws.allow", "names no group: leave the key away where every group may be changed")
	}
	for _, pattern := range k.Allow {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			r.doc.Errorf("aws.allow", "%q is not the id of a group or a pattern such as lb-staging-*", pattern)
		}
	}
	return AWS(k)
}

// Allows tells whether the group of an id may be changed, as far as Allow says.
func (a AWS) Allows(id string) bool {
	for _, pattern := range a.Allow {
		if ok, _ := path.Match(pattern, id); ok {
			return true
		}
	}
	return len(a.Allow) == 0
}
