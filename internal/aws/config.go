package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/rankbench/rankbench/internal/fail"
)

// load reads the SDK's ordinary configuration.
func load(ctx context.Context, o Options) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		// the SDK's own lines would stand in the middle of ours on stderr
		config.WithLogger(logging.Nop{}),
		// so that CloudTrail shows which calls were rankbench's
		config.WithAppID("rankbench"),
	}
	if o.Region != "" {
		options = append(options, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(o.Profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, loadError(err)
	}
	// with an endpoint of its own the SDK would do without a region, and sign for ""
	if cfg.Region == "" {
		return aws.Config{}, usage(errors.New("no AWS region"), "Set --region, AWS_REGION, or region in the profile.")
	}
	return cfg, nil
}

func loadError(err error) error {
	var none config.SharedConfigProfileNotExistError
	if errors.As(err, &none) {
		return usage(fmt.Errorf("AWS profile %q does not exist", none.Profile),
			"`aws configure list-profiles` lists those there are; set --profile or AWS_PROFILE to one of them.")
	}
	return usage(fmt.Errorf("read the AWS configuration: %s", redact(err.Error())),
		"Look at the AWS_* environment variables, ~/.aws/config and ~/.aws/credentials.")
}

func usage(err error, hint string) error {
	return fail.WithCode(fail.WithHint(err, hint), fail.CodeUsage)
}
