package aws

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// endpoints are the URLs that the services were given; nil = the region's own.
type endpoints struct{ elastiCache, cloudWatch, cloudTrail, sts *string }

// findEndpoints asks the SDK which endpoints the environment and the profile
// give, and puts that of the options over them.
//
// Endpoints come silently from the environment, and the one mistake that must
// not happen is to take the real AWS for a local one or the other way about.
// So they are all on loopback or none is: where ElastiCache's is, the services
// that have none of their own use it as well.
func findEndpoints(cfg aws.Config, o Options) (endpoints, error) {
	e := endpoints{
		elastiCache: elasticache.NewFromConfig(cfg).Options().BaseEndpoint,
		cloudWatch:  cloudwatch.NewFromConfig(cfg).Options().BaseEndpoint,
		cloudTrail:  cloudtrail.NewFromConfig(cfg).Options().BaseEndpoint,
		sts:         sts.NewFromConfig(cfg).Options().BaseEndpoint,
	}
	if o.EndpointURL != "" {
		e.elastiCache = &o.EndpointURL
	}
	if err := checkURL(e.elastiCache); err != nil {
		return endpoints{}, err
	}
	for name, other := range map[string]**string{"CloudWatch": &e.cloudWatch, "CloudTrail": &e.cloudTrail, "STS": &e.sts} {
		if e.loopback() && (*other == nil || o.EndpointURL != "") {
			*other = e.elastiCache
		}
		if loopbackURL(*other) != e.loopback() {
			return endpoints{}, usage(fmt.Errorf("the endpoints of ElastiCache and of %s are not both on loopback", name),
				"Set or unset AWS_ENDPOINT_URL and the AWS_ENDPOINT_URL_* of ELASTICACHE, CLOUDWATCH, CLOUDTRAIL and STS together, or use --endpoint-url.")
		}
	}
	return e, nil
}

func (e endpoints) loopback() bool { return loopbackURL(e.elastiCache) }

func checkURL(given *string) error {
	if given == nil {
		return nil
	}
	u, err := url.Parse(*given)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil {
		return nil
	}
	// the URL itself is not shown: it may hold a password
	return usage(fmt.Errorf("the endpoint URL of ElastiCache is not of the form https://host:port"),
		"Look at --endpoint-url, AWS_ENDPOINT_URL_ELASTICACHE, AWS_ENDPOINT_URL and endpoint_url in the profile.")
}

func loopbackURL(given *string) bool {
	if given == nil {
		return false
	}
	u, err := url.Parse(*given)
	return err == nil && loopbackHost(u.Hostname())
}

// loopbackHost reports whether host is loopback by its form. Names other than
// localhost are not looked up: what they lead to now may change.
func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
