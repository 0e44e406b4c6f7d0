// Package simulation runs connections of package rdmaio, with their drivers, over a provider whose
// completions and losses come late, at times that a seed chooses, on the virtual clock of a bubble
// (testing/synctest). Calls are made in both forms at once: submitted, by done functions too, and
// by callers that block and read for themselves where they are alone (verbs.Progresser). Package
// history checks what happened to them.
//
//	caller, done function ──> Conn: slots, submitter, lone ──> driver ──> engine
//	                                                             │  ▲
//	       history <── handler <── Conn, driver, engine          v  │ released when the seed says
//	                      │                 ▲                   provider
//	                      └──> reply ───────┴──────────────────────┘
//
// Each release, cancellation and new Call has its own instant. The clock advances when all
// goroutines wait, so each event and what it leads to is over before the next one begins.
//
// The simulation of package rdmaio/internal/sim has engines alone, on one loop, and so many more
// kinds of faults: docs/adr/0174-one-simulation.md and 0201.
package simulation
