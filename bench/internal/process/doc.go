// Package process runs the other end of a measurement in a process of its own,
// and asks it, and this one, what they have used.
//
// The other process is this program again, with an environment variable set. On its standard
// output it says where it listens, a line "name address" each and "ready" at the end; then
// it answers each line of its standard input, "usage" or "memory", by one of JSON. It
// exits where its standard input ends.
package process
