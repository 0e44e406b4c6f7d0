// Package credits tests how many Calls are in flight: never more than the peer granted. Each Call
// returns once, also if it is cancelled, if its caller handles the reply alone, or if several
// callers send together, and its credit comes back.
package credits
