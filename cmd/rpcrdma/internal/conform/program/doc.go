// Package program holds the RPC programs of rpcrdma conform: conform.x, and the code that make
// generate writes from conform.x.
package program
