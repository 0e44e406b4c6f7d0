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
		info: "V3 NULL Call", want: said + "type=0 flags=0x00000000 inv_handle=0x00000000",
	},
	{
		hex: start + "00000000 00000001" + none + reply, fromServer: true, header: 36,
		info: "V3 NULL Reply (Call In 3)", want: said + "type=0 flags=0x00000001 inv_handle=0x00000000",
	},
	{
		hex: start + "00000000 00000001" + none, fromServer: true, invalidate: true, header: 36,
		info: "RDMA2_MSG RESPONSE xid 0x0000002a", want: said + "type=0 flags=0x00000001 inv_handle=0x00000000",
	},
	{
		hex: start + "00000001 00000000 000000aa 00000001 00000000 000000aa 00000100 00000000 00001000 00000000 " +
			"00000001 00000002 000000bb 00000200 00000000 00002000 000000bc 00000201 00000000 00002800 00000000 " +
			"00000001 00000001 000000cc 00000300 00000000 00003000",
		header: 128,
		info:   "RDMA2_NOMSG xid 0x0000002a",
		want: said + "type=1 flags=0x00000000 inv_handle=0x000000aa position=0 handle=0x000000aa;0x000000bb;0x000000bc;0x000000cc length=256;512;513;768 " +
			"offset=0x0000000000001000;0x0000000000002000;0x0000000000002800;0x0000000000003000 write_chunk=2;1",
	},
	{
		hex: "00000000 00000002 00100005 00000001 00000000" + none, header: 36,
		info: "RDMA2_NOMSG xid 0x00000000, grants 5",
		want: "xid=0x00000000 version=2 credit.ceiling=16 credit.granted=5 type=1 flags=0x00000000 inv_handle=0x00000000",
	},
	{
		hex: start + "00000004 00000001 00000001 00000001 00000002", fromServer: true, header: 32,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, ERR_VERS", want: said + "type=4 flags=0x00000001 error=1 error.low=1 error.high=2",
	},
	{
		hex: start + "00000004 00000001 00000005 00000004", fromServer: true, header: 28,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, READ_CHUNKS", want: said + "type=4 flags=0x00000001 error=5 error.max=4",
	},
	{
		hex: start + "00000004 00000001 00000008 00000001 00002000", fromServer: true, header: 32,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, WRITE_RESOURCE", want: said + "type=4 flags=0x00000001 error=8 error.chunk=1 error.need=8192",
	},
	{
		hex: start + "00000004 00000001 00000009 00001000", fromServer: true, header: 28,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, REPLY_RESOURCE", want: said + "type=4 flags=0x00000001 error=9 error.need=4096",
	},
	{
		hex: start + "00000004 00000001 0000000a", fromServer: true, header: 24,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, SYSTEM", want: said + "type=4 flags=0x00000001 error=10",
	},
	{
		hex: start + "00000004 00000001 0000004d", fromServer: true, header: 24,
		info: "RDMA2_ERROR RESPONSE xid 0x0000002a, error 77", want: said + "type=4 flags=0x00000001 error=77",
	},
	{ // A1: from a server without version 2
		hex: "0000002a 00000002 00000020 00000004 00000001 00000001 00000001", fromServer: true, short: true,
		info: "RDMA2_ERROR ERR_VERS in the form of version 1",
		want: "xid=0x0000002a version=2 credit.version1=32 type=4 error=1 error.low=1 error.high=1",
	},
	{
		hex: start + "00000005 00000000 00000005 00000001 00000004 00001000 00000005 00000004 00000002 " +
			"00000006 00000008 00000003 61626300 00000002 00000000 0000004d 00000005 01020304 05000000",
		header: 88,
		info:   "RDMA2_CONNPROP xid 0x0000002a",
		want: said + "type=5 flags=0x00000000 property=1;5;6;2;77 property.size=4;4;8;0;5 property.value=4096 property.reverse=2 " +
			"property.data=0000000361626300;0102030405",
	},
	{
		hex: start + "00000009 00000004 01020304", header: 20,
		info: "header type 9 xid 0x0000002a", want: said + "type=9 flags=0x00000004 body=01020304 undefined_flag=1",
	},
	{
		hex: start + "00000005 00000000 00000000 00000000", short: true,
		info: "RDMA2_CONNPROP xid 0x0000002a", want: said + "type=5 flags=0x00000000 trailing=1",
	},
	{
		hex: start + "00000000 00000000 00000000 00000002", short: true,
		info: "RDMA2_MSG xid 0x0000002a", want: said + "type=0 flags=0x00000000 inv_handle=0x00000000 bad_list=1",
	},
	{ // a Call in two parts, with a grant and a message that is not a part between them
		hex: "0000002b 00000002 00200001 00000000 00000002" + none + "0000002b 00000000 00000002 0001", parts: true,
		info: "RDMA2_MSG MORE xid 0x0000002b, part 1",
		want: "xid=0x0000002b version=2 credit.ceiling=32 credit.granted=1 type=0 flags=0x00000002 inv_handle=0x00000000 part=1",
	},
	{
		hex: "00000000 00000002 00100005 00000001 00000000" + none, parts: true,
		info: "RDMA2_NOMSG xid 0x00000000, grants 5",
		want: "xid=0x00000000 version=2 credit.ceiling=16 credit.granted=5 type=1 flags=0x00000000 inv_handle=0x00000000",
	},
	{
		hex: "0000002b 00000002 00200003 00000005 00000000 00000000", parts: true,
		info: "RDMA2_CONNPROP xid 0x0000002b",
		want: "xid=0x0000002b version=2 credit.ceiling=32 credit.granted=3 type=5 flags=0x00000000 inside=1",
	},
	{
		hex: start + "00000000 00000000" + none, parts: true,
		info: "RDMA2_MSG xid 0x0000002a", want: said + "type=0 flags=0x00000000 inv_handle=0x00000000 inside=1",
	},
	{ // the other direction is apart
		hex: start + "00000005 00000000 00000000", parts: true, fromServer: true,
		info: "RDMA2_CONNPROP xid 0x0000002a", want: said + "type=5 flags=0x00000000",
	},
	{
		hex: "0000002b 00000002 00200000 00000000 00000000" + none + "86a3 00000003 00000000 00000000 00000000 00000000 00000000", parts: true,
		info: "V3 NULL Call",
		want: "xid=0x0000002b version=2 credit.ceiling=32 credit.granted=0 type=0 flags=0x00000000 inv_handle=0x00000000 part=2",
	},
	{ // the message before it is complete
		hex: start + "00000000 00000000" + none, parts: true,
		info: "RDMA2_MSG xid 0x0000002a", want: said + "type=0 flags=0x00000000 inv_handle=0x00000000",
	},
}

// said has the fields of every message that begins with start.
const said = "xid=0x0000002a version=2 credit.ceiling=32 credit.granted=3 "
