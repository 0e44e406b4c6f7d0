// Package mrpool keeps memory regions and registered buffers of one connection,
// so that neither costs a system call per RPC.
//
// A region registered for a peer is one for one RPC: Register gives a fresh key with
// the rights asked for and no more (R302, R304), Release ends it before the memory
// goes back to its owner (R90, R285, R303) and keeps the region object for
// the next one. A Buffer is memory of the pool itself, registered once without any
// right for the peer: where messages are sent from, received into, and put together.
//
// A Pool may be used by several goroutines. Everything it gives out must be
// given back before Close.
package mrpool
