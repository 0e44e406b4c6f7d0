package sample

import "github.com/rpcrdma/rpcrdma/bench/codec/nfs4"

// Compound is the call by which an NFS version 4.0 client creates a file: eight
// operations, the shape of RFC 7530 §16.16 with what clients put around it.
func Compound() *nfs4.COMPOUND4args {
	handle := make([]byte, 32)
	for i := range handle {
		handle[i] = byte(i*5 + 1)
	}
	attrs := nfs4.Bitmap4{0x0010011a, 0x00b0a23a}
	return &nfs4.COMPOUND4args{
		Tag: []byte("create"),
		Argarray: []nfs4.NFSArgop4{
			{Argop: nfs4.NFSOpnum4OpPutfh, Opputfh: &nfs4.PUTFH4args{Object: handle}},
			{Argop: nfs4.NFSOpnum4OpSavefh},
			{Argop: nfs4.NFSOpnum4OpOpen, Opopen: &nfs4.OPEN4args{
				Seqid:       7,
				ShareAccess: nfs4.Open4ShareAccessBoth,
				Owner:       nfs4.OpenOwner4{Clientid: 0x5ad01c32_00000001, Owner: []byte("open id:\x00\x00\x00\x26\x00\x00\x00\x00\x00\x01")},
				Openhow: nfs4.Openflag4{
					Opentype: nfs4.Opentype4Open4Create,
					How: nfs4.Createhow4{
						Mode:        nfs4.Createmode4Unchecked4,
						Createattrs: nfs4.Fattr4{Attrmask: nfs4.Bitmap4{0x10, 2}, AttrVals: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xa4}},
					},
				},
				Claim: nfs4.OpenClaim4{Claim: nfs4.OpenClaimType4ClaimNull, File: []byte("results-2026-11.csv")},
			}},
			{Argop: nfs4.NFSOpnum4OpGetfh},
			{Argop: nfs4.NFSOpnum4OpAccess, Opaccess: nfs4.ACCESS4args{Access: nfs4.Access4Read | nfs4.Access4Modify | nfs4.Access4Extend | nfs4.Access4Execute}},
			{Argop: nfs4.NFSOpnum4OpGetattr, Opgetattr: nfs4.GETATTR4args{AttrRequest: attrs}},
			{Argop: nfs4.NFSOpnum4OpRestorefh},
			{Argop: nfs4.NFSOpnum4OpGetattr, Opgetattr: nfs4.GETATTR4args{AttrRequest: attrs}},
		},
	}
}
