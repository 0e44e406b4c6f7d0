// Package guest runs a virtual machine with a Linux kernel under QEMU, without KVM and without
// root.
//
// Its network is QEMU's user mode network: a TCP proxy in QEMU itself. The guest reaches the host's
// loopback listeners as [HostAddr], and the host reaches a port of the guest through
// [Guest.Forward]. The proxy accepts a connection to a forwarded port even if nothing listens in
// the guest; the connection then ends without a byte. It does not keep the bounds of TCP segments.
//
// The guest's kernel log is its serial console, which [Console] keeps and judges. Commands run
// through an agent in the guest: [Guest.Run].
//
// QEMU does not outlive the harness: the kernel kills it when the harness ends in any way.
package guest
