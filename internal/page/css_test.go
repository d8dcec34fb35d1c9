package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// themes are the style's colours by name, light and dark.
func themes(t *testing.T) [2]map[string]string {
	t.Helper()
	out := [2]map[string]string{{}, {}}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(pageCSS, -1) {
		out[0][m[1]], out[1][m[1]] = m[2], m[3]
	}
	if len(out[0]) < 20 {
		t.Fatalf("only %d colours were found", len(out[0]))
	}
	return out
}

// luminance is WCAG's relative luminance of #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	must(t, err)
	linear := func(c uint64) float64 {
		s := float64(c&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(v>>16) + 0.7152*linear(v>>8) + 0.0722*linear(v)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrastInBothThemes(t *testing.T) {
	texts := [][2]string{
		{"ink", "page"}, {"ink", "panel"}, {"quiet", "page"}, {"quiet", "panel"}, {"link", "page"}, {"link", "panel"},
		{"good", "panel"}, {"bad", "panel"}, {"bad", "page"}, {"ink", "plain1"}, {"ink", "plain2"},
		{"on-fill", "primary"}, {"on-fill", "replica"}, {"on-fill", "unreachable"}, {"on-fill", "service"}, {"on-fill", "client"}, {"on-fill", "paused"}, {"on-fill", "outage"},
		{"panel", "event"}, {"panel", "ink"}, // flags
		{"c1", "panel"}, {"c2", "panel"}, {"c3", "panel"}, {"c4", "panel"}, // names of a node's series
	}
	shapes := [][2]string{{"c5", "panel"}, {"c6", "panel"}, {"c7", "panel"}, {"c8", "panel"}, {"quiet", "panel"}}
	for i, colours := range themes(t) {
		name := []string{"light", "dark"}[i]
		check := func(pairs [][2]string, want float64) {
			for _, p := range pairs {
				a, b := colours[p[0]], colours[p[1]]
				if a == "" || b == "" {
					t.Fatalf("%v is no pair of colours", p)
				}
				if got := contrast(t, a, b); got < want {
					t.Errorf("%s: %s on %s is %.2f, want %g", name, p[0], p[1], got, want)
				}
			}
		}
		check(texts, 4.5)
		check(shapes, 3)
	}
}

func TestStyleHasNoOtherColours(t *testing.T) {
	rest := regexp.MustCompile(`--[a-z0-9-]+: light-dark\([^)]*\);`).ReplaceAllString(pageCSS, "")
	if found := regexp.MustCompile(`#[0-9a-f]{3,8}\b`).FindAllString(rest, -1); len(found) > 0 {
		t.Errorf("colours outside the list have no contrast that is tested: %v", found)
	}
}
