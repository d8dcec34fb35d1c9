package result

// RepeatsFile is in the folder of a drill that was repeated, beside the folders
// of its runs.
const RepeatsFile = "repeats.json"

// Repeats is repeats.json: what the runs of one drill have in common. It is also
// what a series that was broken off is resumed from.
type Repeats struct {
	Version  int         `json:"version"`
	Scenario string      `json:"scenario"`
	Source   string      `json:"source"` // the scenario as it is run; a series of another one is not resumed
	Against  string      `json:"against"`
	Want     int         `json:"want"` // runs
	Runs     []RepeatRun `json:"runs"` // those that came to their end
	Figures  []Figure    `json:"figures"`
}

// RepeatRun is one run; Folder is relative to the series' own.
type RepeatRun struct {
	Folder      string   `json:"folder"`
	Verdict     string   `json:"verdict"`
	FailedSteps []string `json:"failed_steps,omitempty"` // such a run counts for no figure
}

// Figure is one figure of all runs that have it.
type Figure struct {
	Name   string    `json:"name"` // such as set.outage
	Unit   string    `json:"unit"` // s, us, 1/s, or "" for a count
	Values []float64 `json:"values"`
	Mean   float64   `json:"mean"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
}
