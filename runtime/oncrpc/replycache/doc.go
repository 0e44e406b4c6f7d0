// Package replycache is a Handler of RPC Calls that executes no Call twice: a Call that a client
// sends again gets the reply to the first one. It works over any carrier, also if the Call comes
// again over another one.
package replycache
