// Package fault wraps a verbs device so that things go wrong in it as they do
// in a real one: posts and registrations are refused, keys cannot be ended, connections cannot be
// made or end between two requests, completions come late, with an error, or
// only as flushed, Reads get no answer, Receives are too short or not there, notifications
// come late, twice or not at all, the device goes away.
//
//	inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.Disconnect, At: 3}}})
//	dev := inj.Device(inner) // use it in place of inner
//	...
//	if inj.Count(fault.Disconnect).Fired != 1 { the test tested nothing }
//
// Each Kind has occasions, counted from 1 over all devices of the Injector.
// A fault is injected at those that the script names and, at a rate, at those
// that the seed picks. Whether an occasion is picked depends on seed, kind and
// its number only: the same seed and the same order of calls give the same
// faults, whatever the kinds in between.
//
// The rules of package verbs hold under every fault but LoseNotify: each accepted request
// completes once, the completions of a queue keep their order, the bytes of a
// request are not touched after its completion, and a connection that is lost
// says so. What a wrapper cannot do from outside is said at the Kind.
//
// It allocates and is not for measuring. It starts one goroutine for a
// connection that it cuts, joined by the queue pair's Close, because a
// post may run inside a notification, where a provider need not allow Disconnect.
package fault
