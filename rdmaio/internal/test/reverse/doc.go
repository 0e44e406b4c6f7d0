// Package reverse tests Calls from a server to its client (RFC 8167): they go when the upper layer
// allows it, have separate credits and thresholds, and outlive a connection with
// rdmaio.Backchannel.
package reverse
