package aws

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// credentialsFor are those of the chain. On loopback nobody looks at them, and
// none but fixed ones are used: all others would be fetched first, from IMDS, an
// SSO portal or STS, and a local ElastiCache must work without.
func credentialsFor(cfg aws.Config, loopback bool) aws.CredentialsProvider {
	if loopback && !aws.IsCredentialsProvider(cfg.Credentials, credentials.StaticCredentialsProvider{}) {
		return credentials.NewStaticCredentialsProvider("local", "local", "")
	}
	return cfg.Credentials
}

// credentialsError is that there are no credentials, or that they could not be
// fetched. The SDK has no type for it.
type credentialsError struct{ error }

func (e credentialsError) Unwrap() error { return e.error }

// secrets remembers the credentials that were used, so that they can be struck
// out of texts. AWS puts some into its answers: that of SignatureDoesNotMatch
// holds the request's headers, the session token among them.
type secrets struct {
	mu   sync.Mutex
	seen map[string]bool
}

// watch returns from, remembered and with errors that say what they are about.
func (s *secrets) watch(from aws.CredentialsProvider) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		if from == nil {
			return aws.Credentials{}, credentialsError{fmt.Errorf("there are none")}
		}
		got, err := from.Retrieve(ctx)
		if err != nil {
			return got, credentialsError{err}
		}
		s.remember(got.SecretAccessKey, got.SessionToken)
		return got, nil
	})
}

// shortest keeps words such as the dummy credentials from being struck out: an
// AWS secret key has 40 characters, tokens have hundreds.
const shortest = 16

func (s *secrets) remember(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if len(text) < shortest {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[text] = true
	}
}

// strike returns text without any secret that was used.
func (s *secrets) strike(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret := range s.seen {
		text = strings.ReplaceAll(text, secret, struckOut)
	}
	return text
}
