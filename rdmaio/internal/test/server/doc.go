// Package server tests rdmaio.Server: where handlers run and how many, mistakes of handlers, Calls
// that a reply cache answers, the log, and the ways to close a server.
package server
