// Package nfs42deleg encodes and decodes NFS version 4.2 as RFC 9754 extends it, from the
// document's last draft: delegations that make the client the authority for
// times, an OPEN that returns either a stateid or a delegation, and the attributes [AttrOffline],
// [AttrOpenArguments], [AttrTimeDelegAccess] and [AttrTimeDelegModify].
//
// The document declares open_delegation_type4 and open_delegation4 once more, with new members and
// cases. They, the types that contain them, [CompoundArgs] and [CompoundRes] are in this package.
// Package nfs42 has all other types.
package nfs42deleg
