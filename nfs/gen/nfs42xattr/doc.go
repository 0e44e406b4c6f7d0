// Package nfs42xattr encodes and decodes NFS version 4.2 with the extended attributes of RFC 8276:
// the operations [OpGetXattr], [OpSetXattr], [OpListXattrs] and [OpRemoveXattr], two errors, an
// attribute and three bits of ACCESS.
//
// [CompoundArgs] and [CompoundRes] are COMPOUNDs with these operations. They and the types that
// they need have copies here. Package nfs42 has all other types. A program without extended
// attributes uses that package alone: the bytes of an operation that both have are the same (RFC
// 8178 §4.2).
//
// The names of attributes are without a prefix such as "user." (RFC 8276 §8.2).
package nfs42xattr
