// Package mount3 encodes and decodes version 3 of the mount protocol, RFC 1813 §5: the types of
// program [Program], version [Version]. An NFS version 3 client gets the file handle of an exported
// folder by procedure [ProcMount].
//
// [DirPath] is the argument of [ProcMount] and [ProcUnmount]. [MountRes], [Mounts] and [Exports]
// are the results of [ProcMount], [ProcDump] and [ProcExport]. Names are those of the RFC without
// its 3. Linked lists of the XDR are slices.
//
// Nothing of this protocol is eligible for direct data placement (RFC 8267 §5.1). Servers offer it
// over TCP and UDP, at a port that their port mapper has.
//
// Package [xdr] documents the methods of generated types. Erratum P25 in docs/pitfalls.md corrects
// a name, and changes no byte.
package mount3
