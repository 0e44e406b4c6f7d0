// Package netfault has proxies with the faults of a network, for tests over real sockets. Stream
// cuts the connections of TCP, at both ends or at one end first, delays bytes and pauses. Datagrams
// loses, delays and repeats datagrams.
//
//	client <──> proxy, with faults <──> server
//
// The faults come from a seed, but the kernel and the scheduler decide what they meet. For runs
// that can be repeated to the last event see package rdmaio/internal/sim, and package mem for
// records over a virtual clock.
package netfault
