package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/rankbench/rankbench/"

// may lists which of our packages each may import. Data flows one way: a
// package that is not listed fails, and so does an arrow that is not.
var may = map[string][]string{
	"internal/fail":              {},
	"internal/netfail":           {},
	"internal/httpd":             {},
	"internal/legible":           {},
	"internal/aws":               {"internal/fail"},
	"internal/ranking":           {},
	"internal/result":            {},
	"internal/strictyaml":        {},
	"internal/scenario":          {"internal/ranking", "internal/result", "internal/strictyaml"},
	"internal/config":            {"internal/strictyaml"},
	"internal/plan":              {"internal/ranking", "internal/scenario"},
	"internal/load":              {"internal/ranking", "internal/plan"},
	"internal/measure":           {"internal/ranking", "internal/load", "internal/result"},
	"internal/target":            {"internal/ranking", "internal/load", "internal/config", "internal/result", "internal/fail", "internal/netfail"},
	"internal/populate":          {"internal/ranking", "internal/fail"},
	"internal/observe":           {"internal/result", "internal/netfail"},
	"internal/audit":             {"internal/ranking", "internal/load", "internal/result"},
	"internal/self":              {"internal/result"},
	"internal/expose":            {"internal/httpd", "internal/result"},
	"internal/progress":          {"internal/result"},
	"internal/live":              {"internal/httpd", "internal/page", "internal/progress", "internal/result"},
	"internal/analyze":           {"internal/result"},
	"internal/compare":           {"internal/result"},
	"internal/report":            {"internal/legible", "internal/ranking", "internal/result", "internal/scenario", "internal/analyze", "internal/compare"},
	"internal/page":              {"internal/analyze", "internal/compare", "internal/legible", "internal/report", "internal/result"},
	"internal/action":            {"internal/aws", "internal/config", "internal/fail", "internal/result", "internal/scenario"},
	"internal/drill":             {"internal/result"},
	"internal/local/cluster":     {},
	"internal/local/clustertest": {"internal/local/cluster"},
	"internal/local/state":       {"internal/local/cluster"},
	"internal/local/keep":        {"internal/local/cluster", "internal/local/state"},
	"internal/local/dns":         {},
	"internal/local/metrics":     {},
	"internal/local/control":     {"internal/local/cluster"},
	"internal/local/api":         {"internal/local/control", "internal/local/metrics"},
	"internal/local": {
		"internal/local/api", "internal/local/cluster", "internal/local/control", "internal/local/dns",
		"internal/local/keep", "internal/local/metrics", "internal/local/state",
	},
	"internal/run": {
		"internal/action", "internal/analyze", "internal/audit", "internal/aws", "internal/config", "internal/drill", "internal/expose", "internal/fail", "internal/live", "internal/load", "internal/measure",
		"internal/observe", "internal/plan", "internal/populate", "internal/progress", "internal/ranking", "internal/report", "internal/result",
		"internal/scenario", "internal/self", "internal/target",
	},
	"cmd/rankbench": {
		"internal/action", "internal/aws", "internal/compare", "internal/config", "internal/fail", "internal/legible", "internal/local", "internal/local/cluster", "internal/local/control",
		"internal/local/keep", "internal/local/state", "internal/page", "internal/populate",
		"internal/progress", "internal/report", "internal/result", "internal/run", "internal/scenario", "internal/target",
	},
}

// only lists who may import a module: what is not listed may be imported by nobody.
var only = map[string][]string{
	"github.com/redis/go-redis/v9":            {"internal/target", "internal/observe", "internal/local/cluster", "internal/local/state", "internal/local/keep", "internal/local/control", "internal/local/metrics"},
	"github.com/HdrHistogram/hdrhistogram-go": {"internal/measure", "internal/result", "internal/analyze", "internal/expose", "internal/run"},
	"github.com/prometheus/client_golang":     {"internal/expose"},
	"github.com/prometheus/client_model":      {"internal/expose"},
	"github.com/shirou/gopsutil/v4":           {"internal/self", "internal/local/cluster", "internal/local/state"},
	"github.com/spf13/cobra":                  {"cmd/rankbench"},
	"github.com/spf13/pflag":                  {"cmd/rankbench"},
	"github.com/miekg/dns":                    {"internal/local/dns"},
	"github.com/aws/aws-sdk-go-v2":            {"internal/aws"},
	"github.com/aws/smithy-go":                {"internal/aws", "internal/local/api"},
	"github.com/jedib0t/go-pretty/v6":         {"cmd/rankbench", "internal/report"},
	"golang.org/x/perf":                       {"internal/compare"},
	"golang.org/x/term":                       {"cmd/rankbench"},
	"golang.org/x/sys":                        {"internal/local/cluster", "internal/local/state", "internal/self", "internal/result"},
	"gopkg.in/yaml.v3":                        {"internal/strictyaml"},
}

func TestImportsFollowTheArrows(t *testing.T) {
	for dir, imports := range importsByPackage(t) {
		allowed, listed := may[dir]
		if !listed {
			t.Errorf("%s is not listed in may", dir)
		}
		for _, path := range imports {
			switch rest, ours := strings.CutPrefix(path, module); {
			case ours && !slices.Contains(allowed, rest):
				t.Errorf("%s imports %s: not allowed", dir, rest)
			case !ours && strings.Contains(strings.Split(path, "/")[0], "."):
				checkOwner(t, dir, path)
			}
		}
	}
}

func checkOwner(t *testing.T, dir, path string) {
	t.Helper()
	for mod, owners := range only {
		if path == mod || strings.HasPrefix(path, mod+"/") {
			if !slices.Contains(owners, dir) {
				t.Errorf("%s imports %s: only %s may", dir, path, strings.Join(owners, ", "))
			}
			return
		}
	}
	t.Errorf("%s imports %s: the module has no owner in only", dir, path)
}

// importsByPackage reads the imports of all packages but those of their tests.
func importsByPackage(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, root := range []string{"../internal", "../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			out[dir] = append(out[dir], importPaths(t, f.Imports)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func importPaths(t *testing.T, specs []*ast.ImportSpec) []string {
	t.Helper()
	var out []string
	for _, s := range specs {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
