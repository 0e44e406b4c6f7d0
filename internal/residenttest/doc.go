// Package residenttest measures the resident memory of a server from outside, while peers attack
// it and an honest client is served. The test of each carrier that has tickets for memory uses it.
// A test calls [Run]: its process starts itself again as the server.
package residenttest
