// Package aws is the client side of AWS: it asks ElastiCache, CloudWatch,
// CloudTrail and STS, and has ElastiCache change a replication group. It knows
// nothing of drills, of what is done with the answers, or of Redis, and it waits
// for nothing but answers.
//
//  1. New reads the SDK's ordinary configuration (region, profile, credentials,
//     endpoints); an endpoint on loopback gets dummy credentials where there are
//     no fixed ones, and takes the calls to all four services.
//  2. Place says where calls go and as whom, for the user to see before anything
//     is changed.
//  3. Group, Tags, Events, Metrics and Trail read, and are repeated by the SDK
//     where that may help. Read tells what an event means (words.go).
//  4. TestFailover, IncreaseReplicas, DecreaseReplicas, ModifyShards and Reboot
//     change something (change.go). Each is sent once, on a connection of its
//     own, and is written down by Options.Announce before and Options.Record
//     after. If it cannot be known whether AWS has received one, the error is
//     an Ambiguous, and Confirm looks for traces.
//  5. All answers tell AWS's time: Skew is what our clock is off.
//
// Errors have AWS's code and a hint on what to do (errors.go, hints.go). No
// credential, token or signature is in the text of any.
package aws

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Options say which AWS to talk to, and who is told of changes. What is empty
// follows from the environment and the profile, as in the AWS CLI.
type Options struct {
	Region, Profile string
	EndpointURL     string // of ElastiCache; one on loopback is that of the other services, too

	// Announce is told of a call that will change something, before it is sent;
	// Answered is zero. Its error keeps the call from being sent. nil = nobody.
	Announce func(Call) error
	// Record is told of the same call when its outcome is known, or when it is
	// known that it is not. nil = nobody.
	Record func(Call)
}

// Client talks to AWS. It is safe for concurrent use.
type Client struct {
	opts       Options
	region     string
	read       *elasticache.Client
	change     *elasticache.Client // sends once, each time on a new connection
	watch      *cloudwatch.Client
	trail      *cloudtrail.Client
	trailPace  pace
	identity   *sts.Client
	clock      *clock
	secrets    *secrets
	transports []*http.Transport
}

// New returns a client. It reads configuration files and the environment, and
// talks to nobody. That there is no region, that the profile does not exist or
// that an endpoint is no URL is an error with a hint.
func New(ctx context.Context, o Options) (*Client, error) {
	cfg, err := load(ctx, o)
	if err != nil {
		return nil, err
	}
	to, err := findEndpoints(cfg, o)
	if err != nil {
		return nil, err
	}
	c := &Client{opts: o, region: cfg.Region, clock: &clock{}, secrets: &secrets{}, trailPace: newPace(lookupsApart)}
	cfg.Credentials = c.secrets.watch(credentialsFor(cfg, to.loopback()))
	c.connect(cfg, to)
	return c, nil
}

// connect makes the clients of the services.
func (c *Client) connect(cfg aws.Config, to endpoints) {
	keep, once := transports(cfg)
	c.transports = []*http.Transport{keep, once}
	cfg.HTTPClient = c.httpClient(keep)
	c.read = elasticache.NewFromConfig(cfg, func(o *elasticache.Options) { o.BaseEndpoint = to.elastiCache })
	c.change = elasticache.NewFromConfig(cfg, func(o *elasticache.Options) {
		o.BaseEndpoint = to.elastiCache
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = noteSent(c.httpClient(once))
	})
	c.watch = cloudwatch.NewFromConfig(cfg, func(o *cloudwatch.Options) { o.BaseEndpoint = to.cloudWatch })
	c.trail = cloudtrail.NewFromConfig(cfg, func(o *cloudtrail.Options) { o.BaseEndpoint = to.cloudTrail })
	c.identity = sts.NewFromConfig(cfg, func(o *sts.Options) { o.BaseEndpoint = to.sts })
}

// Close closes the connections that wait for further calls.
func (c *Client) Close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}
