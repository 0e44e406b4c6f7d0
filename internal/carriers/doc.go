// Package carriers opens a server and its clients over each carrier, for suites that check the same
// of all of them, such as package liveness. A suite gets a Carrier, may change the Configs of both
// ends, and serves.
//
//	Carrier.New ──> Ends (Configs) ──> Carrier.Serve ──> Server ──> Dial: one connection
//	                                                        └─────> Client: connects again
//
// Package ibverbs is opened by its own tests, over its fake library: OverRDMA takes any devices.
package carriers
