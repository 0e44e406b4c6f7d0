// Package credit counts the credits of a connection. In version 1 credits limit transactions: a
// Call asks for credits, a Reply grants them, and no more Calls may be in flight than the last
// grant (RFC 8166 §3.3.1). In version 2 a credit is one Receive: every message of one end uses one,
// and every message of the other end may grant more (draft-ietf-nfsv4-rpcrdma-version-two-00
// §4.3.1). Accounts are plain counters: they have neither locks nor timers.
package credit
