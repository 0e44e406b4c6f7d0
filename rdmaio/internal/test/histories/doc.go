// Package histories makes Calls over every carrier while connections are cut, datagrams are lost
// and repeated, and servers close connections, and checks their histories (package history): with a
// reply cache no Call is executed twice, whatever happens, and every caller gets the truth. Half of
// the callers submit their Calls. The simulations (rdmaio/internal/sim and
// rdmaio/internal/test/simulation) check the same without sockets.
package histories
