package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/local/state"
)

func newLocalEnvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print where the local ElastiCache is, for a shell",
		Long: "Prints lines for a POSIX shell: eval \"$(rankbench local env)\"\n" +
			"After that the AWS CLI and the AWS SDKs go to the local ElastiCache, with credentials that open nothing else.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readLocal()
			if err != nil {
				return err
			}
			printEnv(cmd.OutOrStdout(), s)
			return nil
		},
	}
}

type variable struct{ name, value string }

// awsVariables let the AWS CLI and SDKs find s. The CLI's version 1 and boto3
// read AWS_DEFAULT_REGION only.
func awsVariables(s state.State) []variable {
	return []variable{
		{"AWS_ENDPOINT_URL_ELASTICACHE", s.API},
		{"AWS_ENDPOINT_URL_CLOUDWATCH", s.API},
		{"AWS_ENDPOINT_URL_CLOUDTRAIL", s.API},
		{"AWS_ENDPOINT_URL_STS", s.API},
		{"AWS_REGION", s.Region},
		{"AWS_DEFAULT_REGION", s.Region},
		{"AWS_ACCESS_KEY_ID", "local"},
		{"AWS_SECRET_ACCESS_KEY", "local"},
		{"AWS_EC2_METADATA_DISABLED", "true"},
	}
}

// notLocal are variables that would lead somewhere else.
var notLocal = []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"}

// redisVariables say where the first group is.
func redisVariables(s state.State) []variable {
	return []variable{
		{"RANKBENCH_ADDRESSES", strings.Join(s.Addrs(), ",")},
		{"RANKBENCH_PRIMARY", s.Primary},
		{"RANKBENCH_READER", s.Reader},
		{"RANKBENCH_RESOLVER", s.Resolver},
		{"RANKBENCH_CA_FILE", s.CAFile},
		{"RANKBENCH_PASSWORD_FILE", s.PasswordFile},
	}
}

// printEnv unsets what s does not set: an earlier eval may have left it.
func printEnv(w io.Writer, s state.State) {
	unset := slices.Clone(notLocal)
	var set []variable
	for _, v := range slices.Concat(awsVariables(s), redisVariables(s)) {
		if v.value == "" {
			unset = append(unset, v.name)
		} else {
			set = append(set, v)
		}
	}
	fmt.Fprintln(w, "unset", strings.Join(unset, " "))
	for _, v := range set {
		fmt.Fprintf(w, "export %s=%s\n", v.name, shellQuote(v.value))
	}
}

// shellQuote quotes s for a POSIX shell, where it needs that.
func shellQuote(s string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:/_-", r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
