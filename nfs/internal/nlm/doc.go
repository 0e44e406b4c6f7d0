// Package nlm serves version 4 of the network lock manager (RFC 1813 §6; The Open Group, XNFS,
// chapter 10) from a table in memory, and calls clients whose requests have waited.
//
// # Clients
//
// A client is the host that calls, by its address, with the name that it gives itself. So a call
// can only touch the locks that came from the same address, whatever name it has.
//
// # GRANTED
//
// When a lock is free for a request that waits, its owner has it from then on, and the server calls
// GRANTED at the client: at the port that rpcbind of the client's host names, from the address that
// the client called, because Linux looks at it. If the client does not want the lock, the lock is
// released. If it cannot be called, the server tries again until Config.Patience has passed, and
// then releases the lock. A client that cannot be called asks again (Linux after 30 s).
//
// # Restarts
//
// A client that starts again sends SM_NOTIFY (program 100024), which frees its locks. When the
// server starts again, it sends SM_NOTIFY to the clients of its former life, which are in a file,
// and for a grace period only takes locks that clients had before (reclaim). A client is written to
// the file before its first lock is granted.
package nlm
