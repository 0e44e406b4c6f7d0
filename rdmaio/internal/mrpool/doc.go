// Package mrpool keeps the memory regions and registered buffers of one connection for reuse, so
// that an RPC needs no system call for them.
//
// A region that the peer can access belongs to one RPC. Register gives it a new key and exactly the
// rights asked for (R302, R304). Release invalidates the key before the owner may use the memory
// again (R90, R285, R303), and keeps the region object for the next registration. A Buffer is
// memory of the pool itself, registered once and without rights for the peer. Messages are sent
// from buffers, received into them, and assembled in them.
//
// The methods of a Pool may be called concurrently. All regions and buffers must be given back
// before Close.
package mrpool
