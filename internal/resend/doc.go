// Package resend makes the Calls of a Client or a Backchannel on one connection after the other: a
// Call whose connection is lost is sent again on a further one.
package resend
