// Package use4 uses the files of a server by NFS versions 4.1 and 4.2, as programs do in good times
// and in bad ones: trees of files, delegations that are recalled, connections that are cut, and
// restarts of the server. Each function makes sure that nothing is lost and nothing happens twice.
// It is written for Linux's server, and runs on its machine or on another one.
package use4
