package result

// Audit is what the audit found. Its keys are those of summary.json's audit.
type Audit struct {
	Acknowledged  uint64 `json:"acknowledged"`  // Sets that were answered
	Indeterminate uint64 `json:"indeterminate"` // Sets that were not, and may have been applied

	Checked int64 `json:"checked"` // members read back: all that a Set was acknowledged or indeterminate for
	// Lost counts members whose last acknowledged Set is gone: another score is
	// there, or nothing. It was acknowledged from LostFromS to LostToS, to 10 ms,
	// which LostWindowS apart; both are absent where nothing is lost.
	Lost        int64    `json:"lost"`
	LostWindowS float64  `json:"lost_window_s"`
	LostFromS   *float64 `json:"lost_from_s,omitempty"`
	LostToS     *float64 `json:"lost_to_s,omitempty"`
	Missing     int64    `json:"missing"` // members that are not there at all; those with an acknowledged Set are Lost, too
	Ghosts      int64    `json:"ghosts"`  // members with the score of an indeterminate Set
	// Changed counts members without an acknowledged Set that have neither the
	// score they were filled with nor that of an indeterminate Set: others have
	// changed them. It is counted only where the run has filled the ranking itself.
	Changed    int64 `json:"changed"`
	Overlapped int64 `json:"overlapped"` // members of which several last Sets overlapped, so that any of their scores is right

	MissingReads uint64 `json:"missing_reads"` // reads that did not find what must be there
	// StaleReads counts Gets that found neither the last score acknowledged
	// before they were sent nor one in doubt, though no Set overlapped them:
	// from a replica that lags, and, after a loss, of what is lost.
	StaleReads uint64 `json:"stale_reads"`

	Examples []Loss `json:"examples,omitempty"` // of what is lost, by member id; 20 at most
}

// Loss is a lost Set.
type Loss struct {
	Member string   `json:"member"`
	Want   float64  `json:"want"`
	Got    *float64 `json:"got"`  // null: the member is not there
	AtS    float64  `json:"at_s"` // when it was acknowledged
}
