// Package vfs is the interface between an NFS server and the files that it serves. Package nfsd
// serves any FS; localfs, memfs and iofs are three, and vfstest has the tests that each passes.
//
// A server keeps no files open between calls: a client names a file by a handle, and the server
// finds the Node of the handle's ID, uses it for one call, and forgets it. So an FS has two
// things that package io/fs lacks: an ID for each file, and directories that are listed from any
// entry on.
//
// # Identity
//
// An ID stands for one file permanently. It stays the same when the file, or a directory above it,
// is renamed, and for all names of a file with hard links. It is never used again for another file:
// [FS.Resolve] of an ID whose file was removed returns [ErrStale]. An FS whose files outlive the
// process finds them by the same IDs after a restart. It finds a file in a time that does not
// depend on the depth of its directory, if it can. So that listings take bounded memory, an FS may
// forget the ID of a Node that f looked up in [Node.ReadDir], until the ID is used for the first
// time: it is then stale, and the file has it again once its name is looked up.
//
// A Node is valid until the call for which it was found ends. It never becomes another file: where
// a program outside of the server has put another file in the place of a Node's, methods return
// ErrStale.
//
// # Names
//
// A name is one component of 1 to 255 bytes without slash and NUL, in any encoding: the server
// checks that. "." and ".." are passed to [Node.Lookup] alone. Symbolic links are never followed.
//
// # Rights
//
// The server checks the rights of its callers by owner, group and mode of [Attr], for all file
// systems in the same way. An FS does not get the caller's credential, and carries out each call.
// It may give a new object any owner: the server sets owner and mode by [Node.SetAttr] before
// another call can see the object. An FS that cannot give files to others has [Info.Single].
//
// # Concurrency
//
// One Node is used by one goroutine at a time. Methods of different Nodes, also of one file, run
// concurrently, with these exceptions, which the server keeps by locks that it needs anyway to
// report the attributes before and after a change (RFC 1813 §1.3.3):
//
//   - While [Node.Create], [Node.Link], [Node.Remove] or [Node.Rename] runs, no other Node is used.
//   - While [Node.SetAttr] or [Node.Open] with Force runs, no other method that changes the same
//     file runs, or opens it with Force.
//
// Methods of a [File] run at any time, also after the file was renamed or removed.
//
// While a method of a Node runs, calls that change names wait, and all calls that come after these.
// So what takes long, such as to read a whole file that was compressed, belongs in the methods of a
// File. A panic of a method is a fault: the call has no result, the server's locks are free again,
// and it serves other calls.
//
// # Changes and the disk
//
// A method that fails has changed nothing, except for SetAttr, Truncate and WriteAt, which may
// have made a part of the change. A change is seen by all later methods at once. It survives a
// crash of the system when a [File.Sync] has returned that began after it: Sync of a file is for
// its data and attributes, Sync of a directory for the names in it. If Sync fails, data of earlier
// writes may be lost; it is reported once, to one of the Files that are open.
//
// # Errors
//
// Errors are compared by errors.Is with the errors of this package, with fs.ErrNotExist,
// fs.ErrExist, fs.ErrPermission, fs.ErrInvalid and errors.ErrUnsupported, and with a syscall.Errno,
// which counts first. All others are input or output errors to a client. Package nfsd has one table
// from these to the statuses of NFS.
package vfs
