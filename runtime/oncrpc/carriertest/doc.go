// Package carriertest is the suite that every carrier of RPC messages passes. A test of a carrier
// calls Run.
package carriertest
