// Package process runs the other end of a measurement in a process of its own,
// and measures the resources that it and this process use.
//
// The other process is this program again, with an environment variable set. It writes a line "name
// address" for each of its listeners to standard output, and then "ready". It answers each line of
// its standard input, "usage", "memory" or "resident", with a line of JSON, and exits when its
// standard input ends.
package process
