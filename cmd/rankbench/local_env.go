package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/local/state"
)

func newLocalEnvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the local ElastiCache's addresses for a shell",
		Long:  "Prints export lines for a POSIX shell: eval \"$(rankbench local env)\"",
		Args:  args(cobra.NoArgs),
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

func printEnv(w io.Writer, s state.State) {
	for _, v := range []struct{ name, value string }{
		{"RANKBENCH_ADDRESSES", strings.Join(s.Addrs(), ",")},
	} {
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
