// Package inflight gives up Calls in flight when their contexts are done and at their deadlines. A
// Call in flight is a record in memory and has no goroutine, so that nothing else waits for them.
// One registration serves all Calls of a context, and one timer all deadlines of a connection.
package inflight
