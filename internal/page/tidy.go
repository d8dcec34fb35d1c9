package page

import (
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
)

// How much of a name stands at a bar or in the cell of a table, characters.
const (
	shortText   = 48
	shortValues = 30 // beside a letter, that tells groups apart all the same
)

// label is a text that is cut to fit. Title has more of it, for those who point at
// it, and is empty where nothing is missing.
type label struct{ Text, Title string }

func labelOf(text string, most int) label {
	runes := []rune(text)
	if len(runes) <= most {
		return label{Text: text}
	}
	return label{string(runes[:most-1]) + "…", text}
}

// tidied is a copy of a comparison with clean texts. What is made of it (sentences
// with several names in them, lists of folders) is clean as well.
func tidied(t compare.Table) compare.Table {
	t.By = each(t.By, clean)
	t.Same = each(t.Same, tidyCondition)
	t.Groups = each(t.Groups, tidyGroup)
	t.Rows = each(t.Rows, tidyRow)
	t.Notes = each(t.Notes, clean)
	return t
}

func each[S ~[]T, T any](list S, change func(T) T) S {
	var out S
	for _, x := range list {
		out = append(out, change(x))
	}
	return out
}

func tidyCondition(c compare.Condition) compare.Condition {
	return compare.Condition{Key: clean(c.Key), Value: clean(c.Value)}
}

func tidyGroup(g compare.Group) compare.Group {
	g.Name, g.Label = clean(g.Name), clean(g.Label)
	g.Conditions = each(g.Conditions, tidyCondition)
	g.Runs = each(g.Runs, func(r compare.Repeat) compare.Repeat {
		r.Folder, r.Scenario, r.Why = clean(r.Folder), clean(r.Scenario), clean(r.Why)
		return r
	})
	return g
}

// tidyRow makes the name of a figure and the words that begin with it clean one
// after the other: a long name would else leave nothing of the words.
func tidyRow(r compare.Row) compare.Row {
	was := r.Name() + ": "
	r.Of, r.Value = clean(r.Of), clean(r.Value)
	r.Cells = each(r.Cells, func(c *compare.Cell) *compare.Cell {
		if c == nil || c.Words == "" {
			return c
		}
		tidy := *c
		tidy.Words = r.Name() + ": " + clean(strings.TrimPrefix(c.Words, was))
		return &tidy
	})
	return r
}
