// Package nfsd serves a directory by NFS version 3 and MOUNT version 3 (RFC 1813), over any carrier
// of ONC RPC: TCP, RDMA or memory.
//
// It is an example, written to be read. It leaves out:
//
//   - locks: NLM is answered, and refuses each lock with ENOLCK. Mount with nolock to lock files
//     between programs of one client;
//   - access control lists: only the mode bits count;
//   - its own quotas: the file system's quotas apply to the server's user;
//   - Kerberos: AUTH_SYS proves nothing, so any host that can connect can claim any user but root.
//     Restrict the hosts by a firewall;
//   - NFS over UDP: clients can only ask MOUNT and rpcbind over it, as command serve lets them;
//   - several exports, and file systems mounted below the export, which are refused with
//     NFS3ERR_ACCES;
//   - off Linux: named pipes, sockets, devices, and the times of symbolic links.
//
// # Names
//
// A name of a client is one component, without slash and NUL. All access goes through an os.Root,
// so no symbolic link leads out of the export, whether a client or a local program made it. The
// server never follows the last component, and a handle is only valid for the file that it was
// issued for.
//
// # Handles
//
// A handle has the inode number and the generation of its file, and a MAC, so that a client cannot
// make one. The server keeps the name and parent of each file that it issued a handle for in a
// table in memory, and in a file of the state directory. Handles thus survive a restart and the
// renames of clients. ADR 0074 has the reasons and the limits.
//
// # Users
//
// The server checks the mode bits itself. Calls of user 0 act as Config.AnonUID, unless
// Config.AllowRoot is set. If the server does not run as root, it cannot give files to others: all
// callers act as the user of the server.
//
// # Data that must not be lost
//
// The results of all calls but UNSTABLE WRITE are on the disk before the reply, unless Config.Async
// is set. Clients send uncommitted data again when the write verifier has changed: each start has
// its own, and so has the time after a failure to store data.
package nfsd
