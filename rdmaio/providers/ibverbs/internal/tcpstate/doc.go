// Package tcpstate asks the kernel for the state of a TCP connection that belongs to another
// program or to the kernel, as ss(8) does: sock_diag(7). The software device siw has its
// connections in the kernel, and no call of the libraries says whether the peer acknowledges its
// messages.
package tcpstate
