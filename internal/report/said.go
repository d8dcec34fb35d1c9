package report

import "github.com/rankbench/rankbench/internal/compare"

// Said is what a comparison says beside its figures. Text, Markdown and the page
// all take it from here, so that none of them claims what another does not. Its
// texts are as harmless as those of the table that it was made from.
type Said struct {
	Heading  string    // "6 runs in 2 groups by score_spread"
	Letters  []string  // what the letters stand for, where groups have letters
	Signs    string    // what the signs behind the figures mean, "" of one group
	Findings []Finding // what differs, what may, and what does not
	Same     string    // what all runs have in common: "members 20000, replicas 2"
	Notes    []string  // doubts about it, and what the marks of runs mean
}

// Finding is a list of what a comparison says, under a title.
type Finding struct {
	Title string
	Lines []string
}

// Say puts a comparison into words.
func Say(t compare.Table) Said {
	s := Said{Heading: compareHeading(t), Letters: legend(t), Findings: findings(t), Same: same(t), Notes: doubts(t)}
	if len(t.Groups) > 1 {
		s.Signs = verdictLegend
	}
	return s
}
