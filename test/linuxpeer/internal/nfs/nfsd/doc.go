// Package nfsd is an NFS server in memory, for tests of package nfs and of clients that others
// wrote. It serves version 3 with one directory, and its mount protocol over TCP. Of version 4.1 it
// answers EXCHANGE_ID, with which a client begins, and no other operation.
package nfsd
