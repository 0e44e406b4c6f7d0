// Package faults tests Calls over devices that fail, delay and reorder, as hardware may: each Call
// returns once, its error says whether it may have run, no byte of a file is wrong, and histories
// are linearizable.
package faults
