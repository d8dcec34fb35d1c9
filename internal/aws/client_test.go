package aws_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/fail"
)

func TestWhatCannotBeOpenedIsSaidWithAHint(t *testing.T) {
	for _, row := range []struct {
		name  string
		env   map[string]string
		opts  aws.Options
		error string
		hint  string
	}{
		{"no region", nil, aws.Options{}, "no AWS region", "AWS_REGION"},
		{"no region on loopback", nil, aws.Options{EndpointURL: "http://127.0.0.1:1"}, "no AWS region", "--region"},
		{"unknown profile", nil, aws.Options{Region: "us-east-1", Profile: "nope"}, `AWS profile "nope" does not exist`, "list-profiles"},
		{"unknown profile of the environment", map[string]string{"AWS_PROFILE": "gone"}, aws.Options{Region: "us-east-1"}, `AWS profile "gone" does not exist`, "AWS_PROFILE"},
		{"no URL", nil, aws.Options{Region: "us-east-1", EndpointURL: "127.0.0.1:1"}, "not of the form", "--endpoint-url"},
		{"a password in the URL", nil, aws.Options{Region: "us-east-1", EndpointURL: "http://me:" + secret + "@h"}, "not of the form", "--endpoint-url"},
		{"no CA file", map[string]string{"AWS_CA_BUNDLE": "/nowhere.pem"}, aws.Options{Region: "us-east-1"}, "nowhere.pem", "AWS_*"},
		{"half on loopback", map[string]string{"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}, aws.Options{Region: "us-east-1"}, "STS are not both on loopback", "AWS_ENDPOINT_URL"},
		{"the other half", map[string]string{"AWS_ENDPOINT_URL_ELASTICACHE": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_CLOUDWATCH": "https://monitoring.us-east-1.amazonaws.com"},
			aws.Options{Region: "us-east-1"}, "CloudWatch are not both on loopback", "AWS_ENDPOINT_URL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bareEnvironment(t)
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			_, err := aws.New(t.Context(), row.opts)
			if err == nil || !strings.Contains(err.Error(), row.error) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v, want %q", err, row.error)
			}
			if !strings.Contains(fail.HintOf(err), row.hint) || fail.CodeOf(err) != fail.CodeUsage {
				t.Errorf("hint %q, code %d", fail.HintOf(err), fail.CodeOf(err))
			}
		})
	}
}

const identity = `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/me</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`

func TestThePlaceIsTheEndpointThatCallsGoTo(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, identity) })
	for _, row := range []struct {
		name   string
		env    map[string]string
		config string
		opts   aws.Options
	}{
		{name: "given", opts: aws.Options{EndpointURL: f.URL}},
		{name: "given over the environment", opts: aws.Options{EndpointURL: f.URL}, env: map[string]string{"AWS_ENDPOINT_URL": "http://192.0.2.1"}},
		{name: "environment", env: map[string]string{"AWS_ENDPOINT_URL": f.URL}},
		{name: "environment, ElastiCache alone", env: map[string]string{"AWS_ENDPOINT_URL_ELASTICACHE": f.URL}},
		{name: "profile", env: map[string]string{"AWS_PROFILE": "dev"},
			config: "[profile dev]\nregion = eu-west-1\nservices = here\n[services here]\nelasticache =\n  endpoint_url = " + f.URL + "\n"},
		{name: "SSO profile", opts: aws.Options{Profile: "sso", EndpointURL: f.URL},
			config: "[profile sso]\nregion = eu-west-1\nsso_start_url = http://192.0.2.1/\nsso_region = eu-west-1\nsso_account_id = 123456789012\nsso_role_name = r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			config, _ := bareEnvironment(t)
			write(t, config, row.config)
			if row.config == "" {
				t.Setenv("AWS_REGION", "eu-west-1")
			}
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			c, err := aws.New(t.Context(), row.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got, err := c.Place(t.Context())
			want := aws.Place{Endpoint: f.URL, Loopback: true, Region: "eu-west-1", Account: "123456789012", ARN: "arn:aws:iam::123456789012:user/me"}
			if err != nil || got != want {
				t.Errorf("%+v (%v)", got, err)
			}
		})
	}
}

// TestLoopbackNeedsNoCredentialsAndNoIMDS: what would be IMDS counts who comes.
func TestLoopbackNeedsNoCredentialsAndNoIMDS(t *testing.T) {
	imds := serve(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, identity) })
	bareEnvironment(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", imds.URL)
	c, err := aws.New(t.Context(), aws.Options{Region: "us-east-1", EndpointURL: f.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Place(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(imds.got); n != 0 {
		t.Errorf("IMDS was asked %d times", n)
	}
	if auth := f.heads[0].Get("Authorization"); !strings.Contains(auth, "Credential=local/") {
		t.Errorf("signed as %s", auth)
	}
}

// TestTheRealEndpointIsResolvedWithoutACall; the call to STS fails for want of
// credentials, before anything is sent.
func TestTheRealEndpointIsResolvedWithoutACall(t *testing.T) {
	for region, want := range map[string]string{
		"ap-northeast-1": "https://elasticache.ap-northeast-1.amazonaws.com", "cn-north-1": "https://elasticache.cn-north-1.amazonaws.com.cn",
	} {
		bareEnvironment(t)
		c, err := aws.New(t.Context(), aws.Options{Region: region})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, err := c.Place(t.Context())
		if got.Endpoint != want || got.Loopback {
			t.Errorf("%+v", got)
		}
		if aws.Code(err) != aws.CodeNoCredentials || !strings.Contains(fail.HintOf(err), "aws sso login") {
			t.Errorf("error %v, hint %q", err, fail.HintOf(err))
		}
	}
}

func TestAPrivateAuthorityIsTrustedByItsBundle(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, identity) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	write(t, bundle, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	c := open(t, aws.Options{EndpointURL: server.URL})
	if _, err := c.TestFailover(t.Context(), "lb", "0001"); aws.Code(err) != aws.CodeUnreachable || !strings.Contains(fail.HintOf(err), "AWS_CA_BUNDLE") {
		t.Errorf("error %v, hint %q", err, fail.HintOf(err))
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	c = open(t, aws.Options{EndpointURL: server.URL})
	if _, err := c.Place(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACredentialProcessThatPrintsNonsenseKeepsItsSecrets(t *testing.T) {
	config, _ := bareEnvironment(t)
	write(t, config, "[default]\nregion = us-east-1\ncredential_process = /bin/echo not json "+secret+"\n")
	c, err := aws.New(t.Context(), aws.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Place(t.Context())
	if aws.Code(err) != aws.CodeNoCredentials || strings.Contains(err.Error(), secret) || !strings.Contains(fail.HintOf(err), "credential_process") {
		t.Errorf("error %v, hint %q", err, fail.HintOf(err))
	}
}
