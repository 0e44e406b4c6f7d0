// Package carriertest is the suite that every carrier of RPC messages passes. A test of a carrier
// calls Run, and RunBackchannel if the carrier has reverse Calls that outlive a connection. A
// datagram carrier's test calls RunDatagrams instead.
package carriertest
