// Package peers measures the NFS servers nfsd, nfs-ganesha (with its VFS back end) and go-nfs. They
// serve the same directory over TCP on the loopback interface, and each one is called by package
// nfs/client and by libnfs, in mounted directories at several depths. Each server has its own
// process, and so has libnfs: a C program, compiled with the headers of libnfs-dev.
//
// getattr, read and write are calls at a time, of 1 MiB for data; write finishes with a COMMIT.
// list is all READDIRPLUS calls for a directory. create makes empty files and remove removes them;
// copy makes files of 1 KiB, with a WRITE, and a COMMIT by nfs/client. Each operation on a name
// looks up its directory first, as both clients do.
package peers
