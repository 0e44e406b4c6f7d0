package wireshark_test

// cases are messages, with what tshark shows of them: the column Info, and the fields that have a
// value.
var cases = []struct {
	hex        string
	fromServer bool
	invalidate bool // sent by Send With Invalidate
	header     int  // bytes of the header
	short      bool // it ends before its header does
	parts      bool // it is part of a continued message, or inside one
	info, want string
}{
	{
		hex: start + "00000000 00000000" + none + call, header: 36,
		info: "V3 NULL Call",
		want: said + "rdma_htype=0 rdma_flags=0 rdma_inv_handle=0",
	},
	{
		hex: start + "00000000 00000001" + none + reply, fromServer: true, header: 36,
		info: "V3 NULL Reply (Call In 3)",
		want: said + "rdma_htype=0 rdma_flags=1 rdma_inv_handle=0",
	},
	{
		hex: start + "00000000 00000001" + none, fromServer: true, invalidate: true, header: 36,
		info: "RDMA2_MSG RESPONSE xid 0x0000002a",
		want: said + "rdma_htype=0 rdma_flags=1 rdma_inv_handle=0",
	},
	{
		hex: start + "00000001 00000000 000000aa 00000001 00000000 000000aa 00000100 00000000 00001000 00000000 " +
			"00000001 00000002 000000bb 00000200 00000000 00002000 000000bc 00000201 00000000 00002800 00000000 " +
			"00000001 00000001 000000cc 00000300 00000000 00003000",
		header: 128,
		info:   "RDMA2_NOMSG xid 0x0000002a: rdma_inv_handle=170, rdma_position=0, rdma_handle=170, rdma_length=256, rdma_offset=4096, rdma_reads=1 element",
		want:   said + "rdma_htype=1 rdma_flags=0 rdma_inv_handle=170 rdma_position=0 rdma_handle=170;187;188;204 rdma_length=256;512;513;768 rdma_offset=4096;8192;10240;12288 count=2;1",
	},
	{
		hex: "00000000 00000002 00100005 00000001 00000000" + none, header: 36,
		info: "RDMA2_NOMSG xid 0x00000000, grants 5",
		want: "rdma_xid=0x00000000 rdma_vers=2 ceiling=16 granted=5 rdma_credit=1048581 rdma_htype=1 rdma_flags=0 grant=1 rdma_inv_handle=0",
	},
	{
		hex: start + "00000004 00000001 00000001 00000001 00000002", fromServer: true, header: 32,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=RDMA2_ERR_VERS, rdma_vers_low=1, rdma_vers_high=2",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=1 rdma_vers_low=1 rdma_vers_high=2",
	},
	{
		hex: start + "00000004 00000001 00000005 00000004", fromServer: true, header: 28,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=RDMA2_ERR_READ_CHUNKS, rdma_max_read_chunks=4",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=5 rdma_max_read_chunks=4",
	},
	{
		hex: start + "00000004 00000001 00000008 00000001 00002000", fromServer: true, header: 32,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=RDMA2_ERR_WRITE_RESOURCE, rdma_chunk_index=1, rdma_length_needed=8192",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=8 rdma_chunk_index=1 rdma_length_needed=8192",
	},
	{
		hex: start + "00000004 00000001 00000009 00001000", fromServer: true, header: 28,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=RDMA2_ERR_REPLY_RESOURCE, rdma_reply_length_needed=4096",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=9 rdma_reply_length_needed=4096",
	},
	{
		hex: start + "00000004 00000001 0000000a", fromServer: true, header: 24,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=RDMA2_ERR_SYSTEM",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=10",
	},
	{
		hex: start + "00000004 00000001 0000004d", fromServer: true, header: 24,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a: rdma_err=77",
		want: said + "rdma_htype=4 rdma_flags=1 rdma_err=77",
	},
	{ // A1: from a server without version 2
		hex: "0000002a 00000002 00000020 00000004 00000001 00000001 00000001", fromServer: true, short: true,
		info: "ERR_VERS in the form of version 1, xid 0x0000002a",
		want: "rdma_xid=0x0000002a rdma_vers=2 rdma_credit=32 rdma_htype=4 form1=1 low=1 high=1",
	},
	{
		hex: start + "00000005 00000000 00000005 00000001 00000004 00001000 00000005 00000004 00000002 " +
			"00000006 00000008 00000003 61626300 00000002 00000000 0000004d 00000005 01020304 05000000",
		header: 88,
		info:   "RDMA2_CONNPROP xid 0x0000002a: rdma_props=5 elements, rdma_which=RDMA2_PROPID_SBSIZ, RDMA2_PROPID_SBSIZ=4096, rdma_which=RDMA2_PROPID_BRS, RDMA2_PROPID_BRS=2, rdma_which=RDMA2_PROPID_HOSTAUTH",
		want:   said + "rdma_htype=5 rdma_flags=0 rdma_which=1;5;6;2;77 rdma_data=00001000;00000002;0000000361626300;<MISSING>;0102030405 RDMA2_PROPID_SBSIZ=4096 RDMA2_PROPID_BRS=2 RDMA2_PROPID_HOSTAUTH=616263",
	},
	{
		hex: start + "00000009 00000004 01020304", header: 20,
		info: "header type 9 flag 0x4 xid 0x0000002a",
		want: said + "rdma_htype=9 rdma_flags=4 undecoded=01020304 flag=1",
	},
	{
		hex: start + "00000005 00000000 00000000 00000000", short: true,
		info: "RDMA2_CONNPROP xid 0x0000002a: rdma_props=0 elements [trailing]",
		want: said + "rdma_htype=5 rdma_flags=0 undecoded=00000000 trailing=1",
	},
	{
		hex: start + "00000000 00000000 00000000 00000002", short: true,
		info: "RDMA2_MSG xid 0x0000002a [bool]",
		want: said + "rdma_htype=0 rdma_flags=0 rdma_inv_handle=0 undecoded=00000002 bool=1",
	},
	{ // a Call in two parts, with a grant and a message that is not a part between them
		hex: "0000002b 00000002 00200001 00000000 00000002" + none + "0000002b 00000000 00000002 0001", parts: true,
		info: "RDMA2_MSG MORE xid 0x0000002b, part 1",
		want: "rdma_xid=0x0000002b rdma_vers=2 ceiling=32 granted=1 rdma_credit=2097153 rdma_htype=0 rdma_flags=2 rdma_inv_handle=0 part=1",
	},
	{
		hex: "00000000 00000002 00100005 00000001 00000000" + none, parts: true,
		info: "RDMA2_NOMSG xid 0x00000000, grants 5",
		want: "rdma_xid=0x00000000 rdma_vers=2 ceiling=16 granted=5 rdma_credit=1048581 rdma_htype=1 rdma_flags=0 grant=1 rdma_inv_handle=0",
	},
	{
		hex: "0000002b 00000002 00200003 00000005 00000000 00000000", parts: true,
		info: "RDMA2_CONNPROP xid 0x0000002b: rdma_props=0 elements",
		want: "rdma_xid=0x0000002b rdma_vers=2 ceiling=32 granted=3 rdma_credit=2097155 rdma_htype=5 rdma_flags=0 inside=1",
	},
	{
		hex: start + "00000000 00000000" + none, parts: true,
		info: "RDMA2_MSG xid 0x0000002a",
		want: said + "rdma_htype=0 rdma_flags=0 rdma_inv_handle=0 inside=1",
	},
	{ // the other direction is apart
		hex: start + "00000005 00000000 00000000", parts: true, fromServer: true,
		info: "RDMA2_CONNPROP xid 0x0000002a: rdma_props=0 elements",
		want: said + "rdma_htype=5 rdma_flags=0",
	},
	{
		hex: "0000002b 00000002 00200000 00000000 00000000" + none + "86a3 00000003 00000000 00000000 00000000 00000000 00000000", parts: true,
		info: "V3 NULL Call",
		want: "rdma_xid=0x0000002b rdma_vers=2 ceiling=32 granted=0 rdma_credit=2097152 rdma_htype=0 rdma_flags=0 rdma_inv_handle=0 part=2 last=1",
	},
	{ // the message before it is complete
		hex: start + "00000000 00000000" + none, parts: true,
		info: "RDMA2_MSG xid 0x0000002a",
		want: said + "rdma_htype=0 rdma_flags=0 rdma_inv_handle=0",
	},
}

// said has the fields of every message that begins with start.
const said = "rdma_xid=0x0000002a rdma_vers=2 ceiling=32 granted=3 rdma_credit=2097155 "
