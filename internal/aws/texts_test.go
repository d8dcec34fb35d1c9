package aws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/fail"
)

// TestReadsAreRepeated where that can help, and end in a clear error.
func TestReadsAreRepeated(t *testing.T) {
	bareEnvironment(t)
	setCredentials(t)
	for _, row := range []struct {
		name      string
		answer    func(*testing.T, http.ResponseWriter, *http.Request)
		code      string
		requests  int
		transient bool
	}{
		{"throttled", refusal(400, "Throttling"), "Throttling", 3, true},
		{"unavailable", refusal(503, "ServiceUnavailable"), "ServiceUnavailable", 3, true},
		{"denied", refusal(403, "AccessDenied"), "AccessDenied", 1, false},
		{"unknown group", refusal(404, "ReplicationGroupNotFoundFault"), "ReplicationGroupNotFoundFault", 1, false},
		{"a portal's page", page(200), aws.CodeBadAnswer, 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, r *http.Request) { row.answer(t, w, r) })
			c, err := aws.New(t.Context(), aws.Options{Region: "us-east-1", EndpointURL: f.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Group(t.Context(), "lb")
			var e *aws.Error
			if !errors.As(err, &e) || e.Code != row.code || e.Transient() != row.transient || e.Hint() == "" {
				t.Errorf("error %v", err)
			}
			if n := f.count("DescribeReplicationGroups"); n != row.requests {
				t.Errorf("%d requests, want %d", n, row.requests)
			}
		})
	}
}

// TestNoSecretIsInAnyText: AWS sends the request's headers back, and a proxy
// whatever it likes.
func TestNoSecretIsInAnyText(t *testing.T) {
	leak := strings.ReplaceAll(fmt.Sprintf("POST / content-type:x x-amz-security-token:%s Authorization=AWS4-HMAC-SHA256 Credential=%s/20261120/us-east-1/elasticache/aws4_request, SignedHeaders=host, Signature=0123456789abcdef key %s %s",
		token, keyID, secret, token), "&", "&amp;")
	for _, code := range []string{"SignatureDoesNotMatch", "IncompleteSignature", "InvalidSignatureException", "AccessDenied", "InvalidParameterValue", "InternalFailure"} {
		f := serve(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, 403, code, leak) })
		log := &audit{}
		c := open(t, log.options(f.URL))
		var texts []string
		for _, ch := range changes() {
			call, err := ch.do(t.Context(), c)
			_, asked := c.Confirm(t.Context(), call)
			for _, err := range []error{err, asked} {
				texts = append(texts, allTexts(err)...)
			}
		}
		_, err := c.Place(t.Context())
		texts = append(texts, allTexts(err)...)
		recorded, err := json.Marshal([]any{log.announced, log.recorded})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(texts, string(recorded)), "\n")
		for _, not := range []string{secret, token, "0123456789abcdef", "Credential=" + keyID} {
			if strings.Contains(all, not) {
				t.Errorf("%s: %q is in:\n%s", code, not, all)
			}
		}
	}
}

// allTexts are the texts of an error and of all in it.
func allTexts(err error) []string {
	var all []string
	for ; err != nil; err = errors.Unwrap(err) {
		all = append(all, fmt.Sprintf("%v %+v %#v %s", err, err, err, fail.HintOf(err)))
	}
	return all
}
