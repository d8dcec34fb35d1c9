package compare

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// ByFolder is the key by which runs can be grouped without any of their conditions:
// the name of the folder that holds the run's folder. It is for what a run does not
// know of itself.
const ByFolder = "folder"

// nameKey is the condition that only names the others: it is left out of labels
// where they tell the groups apart without it.
const nameKey = "scenario"

// grouping is runs by what differs between them.
type grouping struct {
	by     []string
	same   Conditions
	groups [][]Run
	notes  []string
}

// group puts runs under the same conditions together, in the order in which they
// are given. by are the keys to look at; without any, all that differ.
func group(runs []Run, by []string) (*grouping, error) {
	keys := keysOf(runs)
	if err := checkKeys(by, keys); err != nil {
		return nil, err
	}
	g := &grouping{same: Conditions{}, notes: []string{}}
	var differing []string
	for _, k := range keys {
		if values := valuesOf(runs, k); len(values) > 1 {
			differing = append(differing, k)
		} else {
			g.same = append(g.same, Condition{k, values[0]})
		}
	}
	g.by = by
	if len(by) == 0 {
		g.by = differing
	}
	g.groups = split(runs, g.by)
	if len(by) == 0 {
		g.by = withoutName(g.by, runs, len(g.groups))
	} else {
		g.noteLeftOut(differing)
	}
	g.noteVersions(runs)
	return g, nil
}

// keysOf are the keys of all runs, in the order in which they are met.
func keysOf(runs []Run) []string {
	var keys []string
	for _, r := range runs {
		for _, c := range r.Conditions {
			if !slices.Contains(keys, c.Key) {
				keys = append(keys, c.Key)
			}
		}
	}
	return keys
}

func checkKeys(by, keys []string) error {
	for _, k := range by {
		if k != ByFolder && !slices.Contains(keys, k) {
			return fmt.Errorf("%w by %q: there is no such key; there are %s, %s", ErrUse, k, strings.Join(keys, ", "), ByFolder)
		}
	}
	return nil
}

// value is what a run has for a key.
func (r Run) value(key string) string {
	if key == ByFolder {
		return r.Parent
	}
	return r.Conditions.Get(key)
}

// valuesOf are the different values of a key.
func valuesOf(runs []Run, key string) []string {
	var values []string
	for _, r := range runs {
		if v := r.value(key); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// split puts runs with the same values of the keys together.
func split(runs []Run, keys []string) [][]Run {
	var groups [][]Run
	for _, r := range runs {
		i := slices.IndexFunc(groups, func(g []Run) bool { return alike(g[0], r, keys) })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

func alike(a, b Run, keys []string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return a.value(k) != b.value(k) })
}

// withoutName leaves the scenario's name out where the other keys make as many groups.
func withoutName(keys []string, runs []Run, groups int) []string {
	others := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == nameKey })
	if len(split(runs, others)) == groups {
		return others
	}
	return keys
}

// noteLeftOut tells what else differs between runs that were grouped by some keys.
func (g *grouping) noteLeftOut(differing []string) {
	var left []string
	for _, k := range differing {
		if !slices.Contains(g.by, k) && k != nameKey {
			left = append(left, k)
		}
	}
	if len(left) > 0 {
		g.notes = append(g.notes, fmt.Sprintf("the runs differ in %s as well: what differs between the groups may come of that", strings.Join(left, ", ")))
	}
}

// noteVersions tells that figures of different programs are compared.
func (g *grouping) noteVersions(runs []Run) {
	if v := valuesOf(runs, "rankbench"); len(v) > 1 {
		g.notes = append(g.notes, fmt.Sprintf("the runs are of different versions of rankbench (%s): a difference may be its own", strings.Join(v, ", ")))
	}
}

// baseFirst puts the group with this folder, or with a run of this series, first.
func (g *grouping) baseFirst(folder string) error {
	if folder == "" {
		return nil
	}
	want := filepath.Clean(folder)
	i := slices.IndexFunc(g.groups, func(runs []Run) bool {
		return slices.ContainsFunc(runs, func(r Run) bool {
			path := filepath.Clean(r.Folder)
			return path == want || filepath.Dir(path) == want
		})
	})
	if i < 0 {
		return fmt.Errorf("%w with base %s: it is not among the runs", ErrUse, folder)
	}
	base := g.groups[i]
	g.groups = append([][]Run{base}, slices.Delete(g.groups, i, i+1)...)
	return nil
}

func (g *grouping) describe(runs []Run, base bool) Group {
	out := Group{Label: "all runs", Base: base, Conditions: Conditions{}}
	var label []string
	for _, k := range g.by {
		v := runs[0].value(k)
		out.Conditions = append(out.Conditions, Condition{k, v})
		label = append(label, k+" "+v)
	}
	if len(label) > 0 {
		out.Label = strings.Join(label, ", ")
	}
	for _, r := range runs {
		m := Repeat{Folder: r.Folder, Scenario: r.Summary.Scenario, Started: r.Summary.Started}
		m.Marks, m.Why = marks(r.Summary)
		out.Runs = append(out.Runs, m)
	}
	return out
}

// longLabel is from where on a label makes a bad head of a column, characters.
const longLabel = 40

// name names the groups by their labels; where one is long, all by letters.
func name(groups []Group) {
	long := slices.ContainsFunc(groups, func(g Group) bool { return len(g.Label) > longLabel })
	for i := range groups {
		groups[i].Name = groups[i].Label
		if long {
			groups[i].Name = letter(i)
		}
	}
}

// letter is A … Z, and then G27 and so on.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("G%d", i+1)
}
