// Package client4 is a client of NFS versions 4.1 and 4.2 (RFC 8881, RFC 7862): files, directories
// and extended attributes (RFC 8276) of a server by their names, without a mount. It is built on
// the sessions of package nfs4, which recover from lost connections and restarts of the server.
//
//	c, dir, err := client4.Dial(ctx, "storage.example.net:/export", nil)
//	...
//	f, err := c.OpenFile(ctx, dir+"/hello", os.O_WRONLY|os.O_CREATE, 0o644)
//	...
//	_, err = f.WriteAt([]byte("hello\n"), 0)
//	err = f.Close() // COMMIT: the data are on the server's disk
//
// Names are elements separated by slashes, from the root of the server's names. Symbolic links are
// not followed. [Client.FS] is a view as an io/fs file system.
//
// A File keeps written data until COMMIT has returned the verifier of the WRITEs, and writes them
// again if it is another one (RFC 8881 §18.3). After a restart of the server, open files are
// reclaimed, and calls continue with the new state IDs.
//
// The server is not trusted: names with a slash, a loop of cookies, counts that exceed the call,
// and attributes that the client did not ask for are errors, most of them a [*nfs4.ProtocolError].
//
// # Delegations
//
// The server may delegate a file to the client when it opens it. While the client holds the
// delegation, it opens and closes the file without the server, after a LOOKUP of its name, with the
// rights that the server has allowed before. When the server recalls the delegation, the client
// stores the files' data, opens them at the server, and returns the delegation. It reclaims
// delegations after a restart of the server, and replaces those that the server has revoked.
// Nothing is cached: each READ and WRITE goes to the server. Config.Delegations bounds them.
package client4
