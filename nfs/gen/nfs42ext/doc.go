// Package nfs42ext encodes and decodes NFS version 4.2 with two extensions together: the extended
// attributes of RFC 8276 (package nfs42xattr) and the delegations of RFC 9754 (package nfs42deleg).
// [CompoundArgs] and [CompoundRes] have the operations of both. Package nfs42
// has the types that neither extension changes, and the packages of the extensions have their own.
package nfs42ext
