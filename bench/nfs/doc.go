// Package nfs measures the NFS server of nfs/nfsd beside github.com/willscott/go-nfs, and
// the generated client beside github.com/willscott/go-nfs-client. Both servers serve the same
// directory over the loopback interface, each in a process of its own.
//
//   - nfsd/tcp, nfsd/rdmatcp, nfsd/iwarp: nfsd with its defaults, called by the generated client of
//     gen/nfs3/nfs3rpc over these carriers.
//   - go-nfs: its server, as its own example starts it, called by the same client over TCP.
//   - go-nfs-client>nfsd, go-nfs-client>go-nfs: its client, over TCP. It looks a path up by two
//     calls, and asks for listings of 4 KiB. Its WRITEs are synchronous, so they are not compared.
//   - framed: messages of the same size in each direction, without RPC; bulk data has an empty
//     answer (package verbs).
//   - os: the same work by package os in this process, without a network.
//
// getattr, lookup, read and write are calls of these procedures, write with UNSTABLE. list is all
// READDIRPLUS calls for one directory.
package nfs
