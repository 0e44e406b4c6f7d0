// Package continued measures the ways in which a long RPC message of version 2 can go, over the
// providers mem and rdmatcp, with both ends in one process and one Call at a time.
//
// A Call goes
//
//   - continued: in several Sends (rdmaio.Config.Continue)
//   - by read chunk: its data is an item, which the server fetches by RDMA Read
//   - by long chunk: the whole message is the chunk at position zero, as it must be where the data
//     is not eligible for direct placement
//
// and a Reply
//
//   - continued: in several Sends
//   - by write chunk: its data is an item, which the server writes by RDMA Write
//   - by reply chunk: the server writes the whole message, as it must where the data is not
//     eligible
//
// A message that fits one Send is one whatever the way, write chunks excepted.
package continued
