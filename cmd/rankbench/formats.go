package main

import (
	"errors"
	"slices"
	"strings"
)

// What reports can be printed as, beside text and JSON.
const (
	outputCSV      output = "csv"
	outputMarkdown output = "markdown"
)

// formats is the value of -o of a command that has more than text and JSON.
type formats struct {
	chosen output
	of     []string
}

// newFormats takes the first for the default.
func newFormats(of ...output) *formats {
	f := formats{chosen: of[0]}
	for _, o := range of {
		f.of = append(f.of, string(o))
	}
	return &f
}

func (f *formats) String() string { return string(f.chosen) }
func (f *formats) Type() string   { return strings.Join(f.of, "|") }

func (f *formats) Set(s string) error {
	if !slices.Contains(f.of, s) {
		return errors.New("it is one of " + strings.Join(f.of, ", "))
	}
	f.chosen = output(s)
	return nil
}
