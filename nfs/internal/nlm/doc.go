// Package nlm serves version 4 of the network lock manager (RFC 1813 §6; The Open Group, XNFS,
// chapter 10) from a table in memory, and calls clients whose requests have waited.
//
// # Clients
//
// A client is known by its address together with the name in its calls. So a call can only touch
// locks that came from its own address, whatever name it has.
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
// server starts again, it reads from a file which clients had locks, and sends them SM_NOTIFY. For
// a grace period it only grants locks that clients had before (reclaim). The server writes a client
// to the file before it grants the client's first lock.
package nlm
