package main

var (
	rdmadevTests  = []string{"internal/rdmadev"}
	verbsLibTests = []string{"rdmaio/providers/ibverbs/internal/lib"}
	verbsABITests = []string{"rdmaio/providers/ibverbs/internal/abi"}
	ibverbsTests  = []string{"rdmaio/providers/ibverbs"}
	rpcrdmaTests  = []string{"cmd/rpcrdma"}
)

const (
	rdmadevTreeFile    = "internal/rdmadev/tree.go"
	rdmadevMachineFile = "internal/rdmadev/machine.go"
	rdmadevMemoryFile  = "internal/rdmadev/memory.go"
	rdmadevConnectFile = "internal/rdmadev/connect.go"
	verbsCallFile      = "rdmaio/providers/ibverbs/internal/lib/call_linux.go"
	verbsVerbsFile     = "rdmaio/providers/ibverbs/internal/lib/verbs_linux.go"
	verbsAttrFile      = "rdmaio/providers/ibverbs/internal/abi/attributes.go"
	verbsRequestsFile  = "rdmaio/providers/ibverbs/internal/abi/requests.go"
	verbsObjectsFile   = "rdmaio/providers/ibverbs/internal/abi/objects.go"
	verbsDevicesFile   = "rdmaio/providers/ibverbs/devices.go"
	verbsErrorsFile    = "rdmaio/providers/ibverbs/errors.go"
	selftestFile       = "cmd/rpcrdma/selftest.go"
	devicesFile        = "cmd/rpcrdma/devices.go"
)

// rdmadevMutants are in the list of RDMA devices, in the reasons why one cannot be used, and in the
// calls and layouts of rdma-core.
var rdmadevMutants = []mutant{
	{"an unused GID is listed", rdmadevTreeFile, "err != nil || value.IsUnspecified()", "err != nil", rdmadevTests},
	{"ports are not sorted out by number", rdmadevTreeFile, "if n, err := strconv.Atoi(e.Name()); err == nil {", "if n, _ := strconv.Atoi(e.Name()); true {", rdmadevTests},
	{"a GID index has no bound", rdmadevTreeFile, "err == nil && n >= 0 && n < maxEntries", "err == nil", rdmadevTests},
	{"a loaded module is to be loaded", rdmadevMachineFile, "err == nil {\n				try = \"dmesg", "err == nil && false {\n				try = \"dmesg", rdmadevTests},
	{"the library's view is never compared", rdmadevMachineFile, "p == nil && listed && !slices.Contains", "p == nil && listed && false && !slices.Contains", rdmadevTests},
	{"the connection manager's file is not looked for", rdmadevMachineFile, "	if manager != nil {\n", "	if manager != nil && false {\n", rdmadevTests},
	{"a missing connection manager is a missing library", rdmadevMachineFile, "(len(seen) > 0 || manager == nil)", "true", rdmadevTests},
	{"a file without rights is missing", rdmadevMachineFile, "case errors.Is(err, fs.ErrPermission):", "case false:", rdmadevTests},
	{"pinned memory does not count", rdmadevMemoryFile, "bytes > 0 && used+need <= limit", "bytes > 0 && need <= limit", rdmadevTests},
	{"any errno is a limit of memory", rdmadevMemoryFile, " || !errors.Is(cause, syscall.ENOMEM)", "", rdmadevTests},
	{"kilobytes of VmPin are bytes", rdmadevMemoryFile, "return kb << 10", "return kb", rdmadevTests},
	{"a port that is down is a missing route", rdmadevConnectFile, "found := portProblem(d, p, cause); found != nil {\n			found.Text", "found := portProblem(d, p, cause); false {\n			found.Text", rdmadevTests},
	{"a link-local GID is an address", rdmadevConnectFile, " && !g.Value.IsLinkLocalUnicast()", "", rdmadevTests},

	{"errno is left over from an earlier call", verbsCallFile, "	abi.SetInt(at, 0) // some functions fail without an errno\n", "", verbsLibTests},
	{"a positive result is no errno", verbsCallFile, "		return syscall.Errno(r)\n	}\n	return errno\n", "		return 0\n	}\n	return errno\n", verbsLibTests},
	{"a frame is used twice", verbsCallFile, "	c.free = c.free[:len(c.free)-1]\n	return f, nil", "	return f, nil", verbsLibTests},
	{"a device without windows is asked for one", verbsVerbsFile, "	if alloc == 0 {\n", "	if false {\n", verbsLibTests},
	{"the bad request is lost", verbsVerbsFile, "	abi.SetPointer(f.addr, first) //", "	abi.SetPointer(f.addr, 0) //", verbsLibTests},

	{"max_sge_rd is max_cq", verbsAttrFile, "{124, uint32(a.MaxReadSGE)}, {128, uint32(a.MaxCQ)}", "{128, uint32(a.MaxReadSGE)}, {124, uint32(a.MaxCQ)}", verbsABITests},
	{"the link layer is the flags", verbsAttrFile, "b[46] = a.Width, a.Speed, uint8(a.Link)", "b[47] = a.Width, a.Speed, uint8(a.Link)", verbsABITests},
	{"a window's address is its length", verbsRequestsFile, "put64(b, 104, w.Bind.Addr)", "put64(b, 112, w.Bind.Addr)", verbsABITests},
	{"post_srq_recv is taken for post_send", verbsObjectsFile, "OpPostSend  Op = 208", "OpPostSend  Op = 168", verbsABITests},
	{"lkey and rkey change places", verbsObjectsFile, "put32(b, 36, f.LKey); put32(b, 40, f.RKey)", "put32(b, 40, f.LKey); put32(b, 36, f.RKey)", verbsABITests},

	{"an MTU of 256 bytes is 512", verbsDevicesFile, "return 128 << mtu", "return 256 << mtu", ibverbsTests},
	{"a limit of memory is not named", verbsErrorsFile, "d.tree.Memory(what, uint64(size), err)", "err", ibverbsTests},
	{"a port that is down is not looked at", verbsErrorsFile, "return d.tree.Address(step, c.peer, d.attrs.Name, c.port, err)", "return d.callError(step, err)", ibverbsTests},

	{"a case that hangs passes", selftestFile, "	case hung:\n", "	case hung && false:\n", rpcrdmaTests},
	{"a skipped case passes", selftestFile, "case bytes.Contains(out, []byte(\"    --- PASS: \")):", "case true:", rpcrdmaTests},
	{"problems of ports are not listed", devicesFile, "p != nil {\n				problems = append(problems, p)", "false {\n				problems = append(problems, p)", rpcrdmaTests},
	{"a device of the library is not found", devicesFile, "seen = []string{}\n", "seen = nil\n", rpcrdmaTests},
}
