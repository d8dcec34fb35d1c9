package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Place is where calls go and as whom.
type Place struct {
	Endpoint string `json:"endpoint"` // of ElastiCache, whatever gave it
	Loopback bool   `json:"loopback"` // by the form of Endpoint: nothing real can be hurt
	Region   string `json:"region"`
	Account  string `json:"account"`
	ARN      string `json:"arn"` // of the caller
}

// Place finds out where calls go: the endpoint is the one the SDK resolves, and
// account and caller are what STS says.
func (c *Client) Place(ctx context.Context) (Place, error) {
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return Place{}, c.explain("find the endpoint of ElastiCache", err)
	}
	p := Place{Endpoint: endpoint, Loopback: loopbackURL(&endpoint), Region: c.region}
	who, err := c.identity.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return p, c.explain("ask STS who we are", err)
	}
	p.Account, p.ARN = aws.ToString(who.Account), aws.ToString(who.Arn)
	if p.Account == "" {
		return p, fmt.Errorf("ask STS who we are: %w", &Error{Code: CodeBadAnswer, Message: "the answer names no account"})
	}
	return p, nil
}

// endpoint resolves as each call does.
func (c *Client) endpoint(ctx context.Context) (string, error) {
	o := c.read.Options()
	resolved, err := o.EndpointResolverV2.ResolveEndpoint(ctx, elasticache.EndpointParameters{
		Region:       &o.Region,
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:      aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		Endpoint:     o.BaseEndpoint,
	})
	if err != nil {
		return "", err
	}
	return resolved.URI.String(), nil
}
