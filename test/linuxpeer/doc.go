// Command linuxpeer tests this module against a Linux kernel: its software iWARP (siw), its
// software RoCE (rxe), and its NFS/RDMA server and client, in a virtual machine.
//
//	go run ./test/linuxpeer                 builds the guest if needed, runs all cases
//	go run ./test/linuxpeer -list           lists the cases
//	go run ./test/linuxpeer -run '^mpa/'    runs some
//	go run ./test/linuxpeer -shell          starts the guest and a shell in it
//
// It needs QEMU, but neither KVM nor root nor RDMA hardware: docs/linux-peer.md. One line for each
// case goes to standard output, everything else to standard error. The exit code is 0 if no case
// failed, and if QEMU is not installed, unless -required is given or the environment variable
// WITNESSES is "required".
package main
