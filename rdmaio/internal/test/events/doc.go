// Package events tests what rdmaio.Config.Events and the counts of rdmaio.Stats report about
// Calls: both agree, and they name procedures, waits and failures.
package events
