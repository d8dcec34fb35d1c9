package observe

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// captured reads a reply of redis-server 7.0.15, a primary with one replica.
func captured(t testing.TB, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parseInfo(string(text))
}

func TestInfoOfAPrimaryGivesEveryFigure(t *testing.T) {
	got := result.NodeSample{Role: "primary"}
	fillInfo(&got, captured(t, "info-7.0.15-primary.txt"))
	want := result.NodeSample{
		Role: "primary", RunID: "0d947040c46f1f1677e0b4153e176039fd7b7008",
		CPUSeconds: 0.015029, EngineCPUSeconds: 0.014979,
		NetInBytes: 589, NetOutBytes: 460, UsedMemory: 1108728, Clients: 1, ReplOffset: 163,
		Commands: map[string]uint64{"zadd": 4, "psync": 1, "replconf": 4, "set": 1, "ping": 1, "client|setname": 1},
		Rejected: map[string]uint64{"zadd": 1}, Failed: map[string]uint64{"zadd": 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestInfoOfAReplicaGivesItsOwnOffsetAndLink(t *testing.T) {
	got := result.NodeSample{Role: "replica"}
	fillInfo(&got, captured(t, "info-7.0.15-replica.txt"))
	if got.ReplOffset != 163 || got.Link != "up" || got.LagSeconds != 0 || got.Misses != 2 {
		t.Errorf("got %+v", got)
	}
	if want := map[string]uint64{"client|getname": 1, "zscore": 2}; !maps.Equal(got.Commands, want) {
		t.Errorf("commands %v, want %v: a rejected command is no call", got.Commands, want)
	}
	if want := map[string]uint64{"zadd": 1}; !maps.Equal(got.Rejected, want) {
		t.Errorf("rejected %v, want %v", got.Rejected, want)
	}
}

func TestInfoLines(t *testing.T) {
	for _, tt := range []struct{ name, text, field, want string }{
		{"without CR", "run_id:x\nrole:master\n", "run_id", "x"},
		{"without an end", "role:master", "role", "master"},
		{"value with colons", "os:Amazon ElastiCache: 7\r\n", "os", "Amazon ElastiCache: 7"},
		{"empty value", "config_file:\r\n", "config_file", ""},
		{"command with a colon", "cmdstat_mod:get:calls=3,usec=1\r\n", "cmdstat_mod:get", "calls=3,usec=1"},
		{"command of Redis 6, no failed calls", "cmdstat_ZADD:calls=3,usec=1,usec_per_call=0.33\r\n", "cmdstat_ZADD", "calls=3,usec=1,usec_per_call=0.33"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := parseInfo(tt.text)[tt.field]; !ok || got != tt.want {
				t.Errorf("%s = %q, %v; want %q", tt.field, got, ok, tt.want)
			}
		})
	}
}

func TestCommandNamesAreLowerCase(t *testing.T) {
	var s result.NodeSample
	fillInfo(&s, parseInfo("cmdstat_ZADD:calls=3,usec=1\r\n"))
	if s.Commands["zadd"] != 3 {
		t.Errorf("commands %v", s.Commands)
	}
}

func TestReplicaInItsFirstSyncHasNoOffset(t *testing.T) {
	s := result.NodeSample{Role: "replica"}
	fillInfo(&s, parseInfo("master_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\nslave_repl_offset:-1\r\nmaster_repl_offset:77\r\n"))
	if s.ReplOffset != 0 || s.LagSeconds != 0 || s.Link != "down" {
		t.Errorf("got %+v", s)
	}
}

func FuzzParseInfo(f *testing.F) {
	for _, name := range []string{"info-7.0.15-primary.txt", "info-7.0.15-replica.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("cmdstat_:calls=,=\r\ncmdstat_x:calls=18446744073709551616\r\nused_cpu_sys:NaN\r\n:\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, role := range []string{"primary", "replica"} {
			s := result.NodeSample{Role: role}
			fillInfo(&s, parseInfo(text))
			if s.CPUSeconds < 0 || s.CPUSeconds != s.CPUSeconds || s.LagSeconds < 0 {
				t.Errorf("impossible figure in %+v", s)
			}
			for name := range s.Commands {
				if name != strings.ToLower(name) {
					t.Errorf("command %q", name)
				}
			}
		}
	})
}
