// Package gostubs writes the package with clients and servers of a unit's programs.
//
//	stubs.go    the file; the versions of each program
//	client.go   clients   server.go   servers
//	value.go    arguments and results of procedures in Go
package gostubs
