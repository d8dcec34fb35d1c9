package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/run"
)

// awsFlags are spelled as in the AWS CLI. They go over the config's.
type awsFlags struct{ group, region, profile, endpointURL string }

func (a *awsFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.group, "replication-group-id", "", "`id` of the replication group (default: the config's, or that of the local ElastiCache)")
	f.StringVar(&a.region, "region", "", "AWS `region`")
	f.StringVar(&a.profile, "profile", "", "`name` of a profile of the AWS configuration files")
	f.StringVar(&a.endpointURL, "endpoint-url", "", "`URL` of ElastiCache, CloudWatch and STS, where it is not AWS's own")
}

// over returns the config's settings with the flags over them.
func (a awsFlags) over(c config.AWS) config.AWS {
	for _, p := range []struct {
		flag string
		into *string
	}{{a.group, &c.Group}, {a.region, &c.Region}, {a.profile, &c.Profile}, {a.endpointURL, &c.EndpointURL}} {
		if p.flag != "" {
			*p.into = p.flag
		}
	}
	return c
}

// group is a replication group and how it is reached.
type group struct {
	*against
	client *aws.Client
	aws    config.AWS
	yes    bool
}

// openGroup finds the group that a command is about: the flags', the config's, or
// the first one of this folder's local ElastiCache. Without a config its nodes
// are not asked.
func openGroup(ctx context.Context, cmd *cobra.Command, t targetFlags, a awsFlags) (*group, error) {
	at := &against{config: &config.Config{}, name: nameless, close: func() error { return nil }}
	if t.config != "" {
		var err error
		if at, err = readConfig(t.config); err != nil {
			return nil, err
		}
	} else if a == (awsFlags{}) {
		var err error
		if at, err = localOfFolder(); err != nil {
			return nil, fail.WithHint(err, "give --replication-group-id and --region, or --config FILE, or start a local one with `rankbench local up --detach`")
		}
	}
	g := &group{against: at, aws: a.over(at.config.AWS), yes: t.yes}
	if g.aws.Group == "" {
		return nil, usage(cmd, errors.New("no replication group is given: --replication-group-id, or aws.replication_group in the config"))
	}
	var err error
	g.client, err = openAWS(ctx, g.aws)
	return g, err
}

// openAWS connects to AWS; calls that change something are written down.
func openAWS(ctx context.Context, c config.AWS) (*aws.Client, error) {
	return aws.New(ctx, aws.Options{
		Region: c.Region, Profile: c.Profile, EndpointURL: c.EndpointURL,
		Announce: writeCall, Record: func(call aws.Call) {
			if err := writeCall(call); err != nil {
				fmt.Fprintf(os.Stderr, "warning: %v\n", err)
			}
		},
	})
}

// callsFile is the audit log: a line before and after each call that changes
// something, never rewritten.
var callsFile = filepath.Join(".rankbench", "calls.ndjson")

// writeCall appends to the audit log. That it cannot be written keeps the call
// from being made.
func writeCall(call aws.Call) (err error) {
	line, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(callsFile), 0o700); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	f, err := os.OpenFile(callsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// run is what operations and drills need.
func (g *group) run() run.AWS {
	return run.AWS{Client: g.client, Config: g.aws, Group: g.aws.Group, Pid: g.pid, Confirm: g.confirm}
}

// confirm shows where it goes. What is not on loopback may be production: it
// wants --yes, or the name of the group typed.
func (g *group) confirm(ctx context.Context, t action.Target, roles []action.Role) error {
	if err := t.Text(os.Stderr, roles); err != nil || t.Place.Loopback || g.yes {
		return err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return fail.WithCode(errors.New("this is not on loopback: --yes is needed where nobody can be asked"), fail.CodeUsage)
	}
	fmt.Fprintf(os.Stderr, "This changes it for real. Type the id of the replication group to go on: ")
	typed, err := typedLine(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(typed) != t.Group.ID {
		return fail.WithCode(errors.New("not confirmed; nothing was changed"), fail.CodeUsage)
	}
	return nil
}

// typedLine is the next line of stdin, which an interrupt does not wait for.
func typedLine(ctx context.Context) (line string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		line, err = bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	select {
	case <-done:
		return line, err
	case <-ctx.Done():
		return "", errors.New("interrupted; nothing was changed")
	}
}

// target is the config of the nodes, nil where there is none.
func (g *group) target() *config.Config {
	if g.config.Target.Mode == "" {
		return nil
	}
	return g.config
}

// defaultSettle is how long an operation's end is waited for.
const defaultSettle = 45 * time.Minute
