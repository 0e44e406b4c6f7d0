package sample

import "github.com/rpcrdma/rpcrdma/bench/codec/nfs4"

// Compound is the call by which an NFS version 4.0 client creates a file: eight
// operations, the shape of RFC 7530 §16.16 with what clients put around it.
func Compound() *nfs4.Compound4Args {
	attrs := nfs4.Bitmap4{0x0010011a, 0x00b0a23a}
	return &nfs4.Compound4Args{
		Tag: []byte("create"),
		Argarray: []nfs4.NFSArgop4{
			{Argop: nfs4.NFSOpnum4Putfh, Opputfh: &nfs4.Putfh4Args{Object: handle(32)}},
			{Argop: nfs4.NFSOpnum4Savefh},
			{Argop: nfs4.NFSOpnum4Open, Opopen: &nfs4.Open4Args{
				Seqid:       7,
				ShareAccess: nfs4.Open4ShareAccessBoth,
				Owner:       nfs4.OpenOwner4{Clientid: 0x5ad01c32_00000001, Owner: []byte("open id:\x00\x00\x00\x26\x00\x00\x00\x00\x00\x01")},
				Openhow: nfs4.Openflag4{
					Opentype: nfs4.Opentype4Create,
					How: nfs4.Createhow4{
						Mode:        nfs4.Createmode4Unchecked,
						Createattrs: nfs4.Fattr4{Attrmask: nfs4.Bitmap4{0x10, 2}, AttrVals: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xa4}},
					},
				},
				Claim: nfs4.OpenClaim4{Claim: nfs4.OpenClaimType4Null, File: []byte("results-2026-11.csv")},
			}},
			{Argop: nfs4.NFSOpnum4Getfh},
			{Argop: nfs4.NFSOpnum4Access, Opaccess: nfs4.Access4Args{Access: nfs4.Access4Read | nfs4.Access4Modify | nfs4.Access4Extend | nfs4.Access4Execute}},
			{Argop: nfs4.NFSOpnum4Getattr, Opgetattr: nfs4.Getattr4Args{AttrRequest: attrs}},
			{Argop: nfs4.NFSOpnum4Restorefh},
			{Argop: nfs4.NFSOpnum4Getattr, Opgetattr: nfs4.Getattr4Args{AttrRequest: attrs}},
		},
	}
}
