// Package fakelib is a lib.Lib without hardware and without libraries: devices, memory, queue
// pairs and connections in Go, for tests of the provider.
//
// A Net connects Hosts. A Host is the view of one process: its devices, its limit of locked memory
// and its event channels. Objects have the layout of rdma-core, in memory outside the Go heap.
// Queue pairs execute requests on a goroutine of the Net, so completions come later than the post,
// as with hardware.
//
// The fake is stricter than a device. It reports misuse that would hang, crash or corrupt memory
// with a real library: a handle that is used after it was destroyed, an object that is destroyed
// with events that were not acknowledged, a completion queue that overflows, a Send whose memory
// changes before it is sent. It overwrites the memory of posted Receives, so an old message cannot
// be read there.
//
// A device keeps all promises of libibverbs, unless its quirks.Quirks say otherwise. Other
// switches make a device silent, stop it, or remove it.
package fakelib
