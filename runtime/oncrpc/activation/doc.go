// Package activation takes the sockets with which systemd starts a service, and reports to systemd
// when the service is ready. It needs neither a library nor a configuration.
//
//	sockets, err := activation.Sockets()
//	...
//	ln, err := sockets.Listener("rpc") // FileDescriptorName=rpc of the socket unit
//	server, err := tcp.Serve(ln, handler, nil)
//	...
//	err = activation.Notify("READY=1")
//
// A unit of type socket listens before its service runs. So connections that come while the service
// starts, or starts again, wait in the queue of the socket; a port below 1024 needs no privilege of
// the service; and the service is started by its first client. The protocol is of sd_listen_fds(3)
// and sd_notify(3), and other programs that pass sockets in this way work, too.
//
// On systems other than Linux there are no sockets, and Notify does nothing.
package activation
