package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/result"
)

func newVersionCommand() *cobra.Command {
	out := outputText
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of rankbench, Go and go-redis",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions()
			if out == outputJSON {
				return result.EncodeJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "rankbench %s\ngo %s\ngo-redis %s\n", v["rankbench"], v["go"], v["go-redis"])
			return err
		},
	}
	cmd.Flags().VarP(&out, "output", "o", "what goes to stdout")
	return cmd
}

// versions reads what the Go toolchain noted in the binary.
func versions() map[string]string {
	v := map[string]string{"rankbench": "unknown", "go": runtime.Version(), "go-redis": "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v["rankbench"] = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v["revision"] = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/redis/go-redis/v9" {
			v["go-redis"] = d.Version
		}
	}
	return v
}
