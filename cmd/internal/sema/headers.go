package sema

// given is a declaration that .x files expect from a C header.
type given struct {
	name, xdr, from string
}

// prelude returns declarations of names that real files use without declaring them, because
// rpcgen leaves them to the C compiler: types whose XDR routines are in the RPC library, and
// constants of its headers. Each has the same meaning on all systems that were examined. Names
// whose meaning differs (time_t, off_t, MAXPATHLEN, ...) are not included. For these, the error
// explains how to declare them.
//
// A declaration is added to a unit only if the unit uses its name and does not declare it. Each
// is reported once, as a warning.
func prelude() []given {
	return []given{
		// Types of the RPC library.
		{"netobj", "typedef opaque netobj<1024>;", "<rpc/xdr.h>, which bounds it by MAX_NETOBJ_SZ"},
		{"des_block", "typedef opaque des_block[8];", "<rpc/key_prot.h>"},
		{"rpcprog_t", "typedef unsigned int rpcprog_t;", "<rpc/types.h>"},
		{"rpcvers_t", "typedef unsigned int rpcvers_t;", "<rpc/types.h>"},
		{"rpcproc_t", "typedef unsigned int rpcproc_t;", "<rpc/types.h>"},
		{"rpcprot_t", "typedef unsigned int rpcprot_t;", "<rpc/types.h>"},
		{"rpcport_t", "typedef unsigned int rpcport_t;", "<rpc/types.h>"},
		{"opaque_auth", "struct opaque_auth { unsigned int flavor; opaque body<400>; };", "<rpc/auth.h>; RFC 5531 §8.2"},
		{"authsys_parms", authSys("authsys_parms"), "RFC 5531 appendix A"},
		{"authunix_parms", authSys("authunix_parms"), "<rpc/auth_unix.h>; RFC 5531 appendix A"},
		{"netbuf", "struct netbuf { unsigned int maxlen; opaque buf<>; };", "<rpc/rpcb_prot.h>; RFC 1833 §2.1"},

		// Constants of the RPC library.
		{"AUTH_NONE", "const AUTH_NONE = 0;", "RFC 5531 §8.1"},
		{"AUTH_NULL", "const AUTH_NULL = 0;", "<rpc/auth.h>, RFC 1057's name of AUTH_NONE"},
		{"AUTH_SYS", "const AUTH_SYS = 1;", "RFC 5531 §8.1"},
		{"AUTH_UNIX", "const AUTH_UNIX = 1;", "<rpc/auth.h>, RFC 1057's name of AUTH_SYS"},
		{"AUTH_SHORT", "const AUTH_SHORT = 2;", "RFC 5531 §8.1"},
		{"AUTH_DH", "const AUTH_DH = 3;", "RFC 5531 §8.1"},
		{"AUTH_DES", "const AUTH_DES = 3;", "<rpc/auth.h>, an older name of AUTH_DH"},
		{"RPCSEC_GSS", "const RPCSEC_GSS = 6;", "RFC 5531 §8.1"},
		{"MAX_AUTH_BYTES", "const MAX_AUTH_BYTES = 400;", "<rpc/auth.h>; RFC 5531 §8.2"},
		{"MAX_MACHINE_NAME", "const MAX_MACHINE_NAME = 255;", "<rpc/auth_unix.h>; RFC 5531 appendix A"},
		{"NGRPS", "const NGRPS = 16;", "<rpc/auth_unix.h>; RFC 5531 appendix A"},
		{"MAXNETNAMELEN", "const MAXNETNAMELEN = 255;", "<rpc/auth.h>"},
		{"MAX_NETOBJ_SZ", "const MAX_NETOBJ_SZ = 1024;", "<rpc/xdr.h>"},
		{"MAXNETOBJ_SZ", "const MAXNETOBJ_SZ = 1024;", "<rpcsvc/nlm_prot.h>"},

		// Constants that files of the NFS protocols take from each other.
		{"NFS3_FHSIZE", "const NFS3_FHSIZE = 64;", "RFC 1813 §2.4"},
		{"FHSIZE3", "const FHSIZE3 = 64;", "RFC 1813 §5.1.4"},
		{"FHSIZE", "const FHSIZE = 32;", "RFC 1094 §2.3.3"},
		{"MNTPATHLEN", "const MNTPATHLEN = 1024;", "RFC 1813 §5.1.4"},
		{"MNTNAMLEN", "const MNTNAMLEN = 255;", "RFC 1813 §5.1.4"},
		{"LM_MAXSTRLEN", "const LM_MAXSTRLEN = 1024;", "<rpcsvc/nlm_prot.h>"},
		{"LM_MAXNAMELEN", "const LM_MAXNAMELEN = 1025;", "<rpcsvc/nlm_prot.h>"},
		{"SM_MAXSTRLEN", "const SM_MAXSTRLEN = 1024;", "<rpcsvc/sm_inter.h>"},

		// Constants of libvirt's public headers, which its protocol files use.
		{"VIR_UUID_BUFLEN", "const VIR_UUID_BUFLEN = 16;", "<libvirt/libvirt-host.h>"},
		{"VIR_UUID_STRING_BUFLEN", "const VIR_UUID_STRING_BUFLEN = 37;", "<libvirt/libvirt-host.h>"},
		{"VIR_TYPED_PARAM_INT", "const VIR_TYPED_PARAM_INT = 1;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_UINT", "const VIR_TYPED_PARAM_UINT = 2;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_LLONG", "const VIR_TYPED_PARAM_LLONG = 3;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_ULLONG", "const VIR_TYPED_PARAM_ULLONG = 4;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_DOUBLE", "const VIR_TYPED_PARAM_DOUBLE = 5;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_BOOLEAN", "const VIR_TYPED_PARAM_BOOLEAN = 6;", "<libvirt/libvirt-common.h>"},
		{"VIR_TYPED_PARAM_STRING", "const VIR_TYPED_PARAM_STRING = 7;", "<libvirt/libvirt-common.h>"},
		{"VIR_SECURITY_MODEL_BUFLEN", "const VIR_SECURITY_MODEL_BUFLEN = 257;", "<libvirt/libvirt-host.h>"},
		{"VIR_SECURITY_LABEL_BUFLEN", "const VIR_SECURITY_LABEL_BUFLEN = 4097;", "<libvirt/libvirt-host.h>"},
		{"VIR_SECURITY_DOI_BUFLEN", "const VIR_SECURITY_DOI_BUFLEN = 257;", "<libvirt/libvirt-host.h>"},
	}
}

// authSys returns the body of an AUTH_SYS credential (RFC 5531 appendix A).
func authSys(name string) string {
	return "struct " + name + " { unsigned int stamp; string machinename<255>; unsigned int uid; unsigned int gid; unsigned int gids<16>; };"
}
