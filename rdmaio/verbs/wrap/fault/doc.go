// Package fault wraps a verbs device and injects the faults of real devices: posts,
// registrations and invalidations fail, connections fail or break between two requests,
// completions come late, with an error, or only as flushed, Reads get no response, Receives
// are too short or missing, notifications come late, twice or not at all, and the device is
// removed.
//
//	inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.Disconnect, At: 3}}})
//	dev := inj.Device(inner) // use it in place of inner
//	...
//	if inj.Count(fault.Disconnect).Fired != 1 { the test tested nothing }
//
// Each Kind has occasions, which are counted from 1 over all devices of the Injector. A
// fault is injected at the occasions that the script names, and at those that the seed picks
// at a rate. Whether an occasion is picked depends only on seed, kind and its number: the
// same seed and the same order of calls give the same faults, whatever the kinds in between.
//
// A manner (Config.Manners) is not a fault but a property: an RDMA device has it all the time, and
// a provider in software does not. So code can be tested as if on hardware, without any:
//
//	seed := uint64(time.Now().UnixNano()) // print it
//	inj := fault.New(fault.Config{Seed: seed, Manners: fault.SomeManners(seed)})
//
// Injector.Happened counts the effects of a manner. Both devices of a connection should be devices
// of one Injector.
//
// The rules of package verbs hold under every fault except LoseNotify. Each accepted request
// completes once, the completions of a queue keep their order, the bytes of a request are not
// accessed after its completion, and the end of a connection is reported. The comment of a
// Kind lists the limits of a wrapper.
//
// The wrapper allocates, so do not measure with it. For a connection that it breaks it
// starts a goroutine, because a post may run inside a notification, where a provider need
// not allow Disconnect. The queue pair's Close waits for that goroutine.
package fault
