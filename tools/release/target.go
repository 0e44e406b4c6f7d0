package main

import "runtime"

// target is a system for which an archive is made.
type target struct {
	system, arch string // GOOS and GOARCH
	ibverbs      bool   // with the provider for RDMA devices, which needs glibc
}

// targets are all targets, in the order in which they are built.
func targets() []target {
	return []target{
		{system: "linux", arch: "amd64"},
		{system: "linux", arch: "arm64"},
		{system: "linux", arch: "amd64", ibverbs: true},
		{system: "linux", arch: "arm64", ibverbs: true},
		{system: "darwin", arch: "amd64"},
		{system: "darwin", arch: "arm64"},
		{system: "windows", arch: "amd64"},
	}
}

func (t target) name() string {
	name := t.system + "_" + t.arch
	if t.ibverbs {
		name += "_ibverbs"
	}
	return name
}

// command is a program of the release.
type command struct {
	name, path string   // path from the root of the tree
	devices    bool     // it can use RDMA devices
	flagsOnly  bool     // it has no commands: -completion, and one page
	pages      string   // the first part of its pages' names; default: name
	topics     []string // of its help, besides the commands
}

// commands are all programs. The pages of nfs have other names than Debian's libnfs-utils has:
// nfs-ls(1) and the like.
func commands() []command {
	return []command{
		{name: "nfs", path: "./nfs/cmd/nfs", devices: true, pages: "rpcrdma-nfs", topics: []string{"exit-codes", "json"}},
		{name: "nfsserve", path: "./nfs/cmd/nfsserve", devices: true, flagsOnly: true},
		{name: "rpcrdma", path: "./cmd/rpcrdma", devices: true, topics: []string{"errors", "exit-codes", "json"}},
		{name: "xdrgen", path: "./cmd/xdrgen", topics: []string{"sidecar", "lint-rules", "compat-rules", "formats", "make", "exit-codes"}},
	}
}

// hostTarget is the system of this process, whose programs print the help.
func hostTarget() target { return target{system: runtime.GOOS, arch: runtime.GOARCH} }
