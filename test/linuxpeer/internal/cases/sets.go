package cases

// Sets returns the names of the case sets, the default first: "all" has all cases, and "ci", for
// every change, has one case of each kind.
func Sets() []string { return []string{"all", "ci"} }

// repeats has the cases that the set ci leaves out, each with the case that covers it: the same
// traffic with or without CRCs, over TCP or RDMA, with another depth, or the other way.
var repeats = map[string]string{
	"boot/rping-rxe":           "boot/rping-siw",
	"mpa/null-v3":              "mpa/null-v3-crc",
	"nfs/null-crc":             "nfs/procedures",
	"nfs/null":                 "nfs/procedures",
	"nfs/procedures-crc":       "nfs/procedures",
	"nfs/long-messages":        "nfs/long-messages-crc",
	"nfs/64mib-depth1-crc":     "nfs/64mib-depth32-crc",
	"nfs/64mib-depth1":         "nfs/64mib-depth32-crc",
	"nfs/64mib-depth32":        "nfs/64mib-depth32-crc",
	"nfs/recovery-crc":         "nfs/recovery",
	"nfs-tree/tcp":             "nfs-tree/rdma",
	"oracle/all":               "oracle/sample",
	"nfs4/files-tcp":           "nfs4/files-iwarp",
	"nfs4/files-tls":           "nfs4/files-iwarp",
	"nfs4/files-siw":           "nfs4/files-iwarp",
	"nfs4/files-rxe":           "nfs4/files-iwarp",
	"nfs4/recall-tcp":          "nfs4/recall-rxe",
	"nfs4/recall-tls":          "nfs4/recall-rxe",
	"nfs4/recall-iwarp":        "nfs4/recall-rxe",
	"nfs4/recall-siw":          "nfs4/recall-rxe",
	"nfs4/cut-tls":             "nfs4/cut-tcp",
	"nfs4/cut-iwarp":           "nfs4/cut-tcp", // in 6.1 a thread of the server may wait for good
	"nfs4/cut-siw":             "nfs4/cut-tcp",
	"nfs4/cut-rxe":             "nfs4/cut-tcp",
	"nfs4/restart-tls":         "nfs4/restart-tcp",
	"nfs4/restart-iwarp":       "nfs4/restart-tcp",
	"nfs4/restart-siw":         "nfs4/restart-tcp",
	"nfs4/restart-rxe":         "nfs4/restart-tcp",
	"nfs-client/v3-tcp":        "nfs-client/v3",
	"nfs-client/v3-crc":        "nfs-client/v3",
	"nfs-client/v4.1":          "nfs-client/v4.1-crc",
	"mount/tree-tcp":           "mount/tree",
	"mount/fsx-tcp":            "mount/fsx-crc",
	"mount/restart-tcp":        "mount/restart",
	"mount/copy":               "mount/copy-tcp",
	"mount/no-options-rpcbind": "mount/no-options",
	"mount/fio":                "mount/git", // mount/fsx-crc has such data, too
	"mount/stress":             "mount/git",
	"mount/permissions":        "mount/tree",
	"mount/locks-off":          "mount/locks",
	"mount/locks-restart":      "mount/locks",
	"mount/locks-two":          "mount/locks",
	"mount/locks-here":         "mount/locks",
	"mount/locks-here-alone":   "mount/locks",
	"mount/locks-here-mapper":  "mount/locks",
	"rping/client-of-siw-crc":  "rping/client-of-siw",
	"rping/server-of-siw":      "rping/server-of-siw-crc",
	"tls/server":               "tls/server-mutual",
	"tls/client":               "tls/client-mutual",
	"perftest/send-from-guest": "perftest/send-to-guest",
	"perftest/write-to-guest":  "perftest/write-from-guest",
	"perftest/read-to-guest":   "perftest/read-from-guest",
	"ibverbs/calls-siw":        "ibverbs/calls-rxe",
	"ibverbs/dials-rxe":        "ibverbs/dials-siw",
	"ibverbs/idle-rxe":         "ibverbs/idle-siw",
	"ibverbs/silent-rxe":       "ibverbs/silent-siw",
	"ibverbs/vanished-rxe":     "ibverbs/vanished-siw",
	"ibverbs/library-siw":      "ibverbs/library-rxe",
	"ibverbs/rping-rxe":        "ibverbs/rping-siw",
	"ibverbs/perftest-siw":     "ibverbs/perftest-rxe",
	"ibverbs/to-knfsd-siw":     "ibverbs/to-knfsd-rxe",
	"ibverbs/mount-rxe":        "ibverbs/mount-siw",
	"ibverbs/memlock-siw":      "ibverbs/memlock-rxe",
	"ibverbs/rights-siw":       "ibverbs/rights-rxe",
	"ibverbs/removed-siw":      "ibverbs/removed-rxe",
	"ibverbs/fsx-to-knfsd-siw": "ibverbs/to-knfsd-rxe",
	"ibverbs/fsx-to-knfsd-rxe": "ibverbs/to-knfsd-rxe",
	"ibverbs/fsx-mount-siw":    "ibverbs/mount-siw",
	"ibverbs/fsx-mount-rxe":    "ibverbs/mount-siw",
	"ibverbs/page-siw":         "ibverbs/devices",
	"ibverbs/page-rxe":         "ibverbs/devices",
	"ibverbs/syscalls-rxe":     "ibverbs/calls-rxe",
	"ibverbs/rest-siw":         "ibverbs/rest-rxe",
	"ibverbs/ratios-siw":       "ibverbs/perftest-rxe", // figures, not rules
	"ibverbs/ratios-rxe":       "ibverbs/perftest-rxe",
	"ibverbs/selftest-siw":     "ibverbs/calls-rxe",
	"ibverbs/selftest-rxe":     "ibverbs/calls-rxe",
	"verbstest/siw":            "ibverbs/calls-rxe", // the suite takes minutes
	"verbstest/rxe":            "ibverbs/calls-rxe",
}

// InSet reports whether a set has the case of that name.
func InSet(set, name string) bool {
	_, repeat := repeats[name]
	return set == "all" || !repeat
}
