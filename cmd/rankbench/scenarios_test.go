//go:build scenarios

package main

import "testing"

// TestScenarios runs every scenario of the repository at reduced size, which takes
// minutes: `make scenarios`.
func TestScenarios(t *testing.T) { runScripts(t, "testdata/scenarios") }
