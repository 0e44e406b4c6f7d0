// Package nfs4 has the sessions that NFS clients of version 4.1 and 4.2 need (RFC 8881, RFC 7862),
// over any carrier of ONC RPC: RDMA, TCP or memory. A [Session] makes COMPOUNDs, and serves the
// server's callbacks on the connections of its carrier. Files, attributes and delegations are the
// business of its caller.
//
//	s, err := nfs4.DialTCP(ctx, "storage.example.net:2049", nil)
//	...
//	var c nfs4.Compound
//	c.PutRootFH()
//	c.Lookup("data")
//	fh := c.GetFH()
//	if err := s.Do(ctx, &c); err != nil {
//		return err
//	}
//	use(fh.OK.Object)
//
// # COMPOUNDs
//
// A [Compound] is a list of operations. Each method appends one, and returns a pointer to its
// result. Do puts SEQUENCE before them, and reads the results into that memory. Each result is
// compared with its operation while it is read: too many or too few results, one for another
// operation, and a status that contradicts the results are a [*ProtocolError]. An operation that
// the server refuses is a [*StatusError].
//
// # Slots
//
// A COMPOUND has one of the session's slots until its reply has come. If the connection is lost,
// the carrier sends the same call again on the next one, and the server answers from the slot's
// cache, so that it executes the COMPOUND once. If a caller gives up, the session finds out by
// itself what became of the call before the slot has another one.
//
// # Recovery
//
// A lost connection is bound to the session again. A lost session is replaced. If the server has
// kept the client's state, nothing else is lost. Otherwise Config.Reclaim has to reclaim it before
// any other COMPOUND runs, and RECLAIM_COMPLETE follows. A COMPOUND that may have run on the lost
// session is made again if that does no harm ([Compound.Repeatable]), and else fails with
// [ErrReplyLost].
//
// # A server that is not trusted
//
// Counts, sequence IDs, slots and session IDs in replies and callbacks are checked. Waits
// for NFS4ERR_DELAY, NFS4ERR_GRACE and for a new session have the limit Config.MaxWait.
package nfs4
