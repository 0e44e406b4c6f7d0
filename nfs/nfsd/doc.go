// Package nfsd serves a file system by NFS version 3 and MOUNT version 3 (RFC 1813), over any
// carrier of ONC RPC: TCP, RDMA or memory. The file system is a directory of the operating system,
// or any other vfs.FS.
//
// It is an example, written to be read. It leaves out:
//
//   - access control lists: only the mode bits count;
//   - its own quotas: the file system's quotas apply to the server's user;
//   - Kerberos: AUTH_SYS proves nothing, so any host that can connect can claim any user but root.
//     Restrict the hosts by a firewall;
//   - NFS over UDP: clients can only ask MOUNT and rpcbind over it, as command serve lets them;
//   - several exports, and file systems mounted below a directory that is served, which are refused
//     with NFS3ERR_ACCES;
//   - off Linux: named pipes, sockets, devices, and the times of symbolic links, in a directory.
//
// # Names
//
// A name of a client is one component, without slash and NUL. The server never follows a symbolic
// link, and a handle is only valid for the file that it was issued for. Package localfs says how a
// directory is confined.
//
// # Handles
//
// A handle has the vfs.ID of its file, and a MAC, so that a client cannot make one. Handles survive
// a restart if the file system keeps its IDs and Config.Key is the same, as for a directory.
//
// # Users
//
// The server checks the mode bits itself. Calls of user 0 act as Config.AnonUID, unless
// Config.AllowRoot is set. If a directory is served by another user than root, the server cannot
// give files to others: all callers act as this user.
//
// # Locks
//
// Clients lock files by NLM version 4. The locks are in memory. The state directory has the clients
// that hold some: after a restart they reclaim their locks, while new ones wait for the time
// Config.LockGrace. Shares, which DOS has, are refused. ADR 0204 has the limits.
//
// # Data that must not be lost
//
// The results of all calls but UNSTABLE WRITE are on the disk before the reply, unless Config.Async
// is set. Clients send uncommitted data again when the write verifier has changed: each start has
// its own, and so has the time after a failure to store data.
package nfsd
