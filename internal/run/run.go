// Package run is the one place that knows the whole pipeline of a command:
//
//  1. plan: the scenario becomes phases.
//  2. target: the config becomes a driver, checked before anything is sent.
//  3. populate: the ranking is filled, or found right.
//  4. load runs the phases on the target's workers and records into measure;
//     observe and self look at the nodes and at the own process beside it.
//  5. Every second a cut of all that becomes a line of the result's folder, and
//     every interval lines on the screen.
//  6. report makes the summary from the folder alone.
//
// A drill (drill.go) has steps, a probe and the reading of ElastiCache's events
// beside the load; what its steps changed is put back, and what audit has entered
// is read back, before the last line. Repeat runs it several times; Operate does
// one operation of ElastiCache without any load.
//
// It holds no logic of its own beyond that order: what a figure means is
// decided in measure and analyze.
package run
