package api

import (
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/metrics"
)

// what the endpoint stands before outside of tests
var (
	_ Plane   = (*control.Plane)(nil)
	_ Metrics = (*metrics.Store)(nil)
)
