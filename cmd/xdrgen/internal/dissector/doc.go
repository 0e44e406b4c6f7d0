// Package dissector writes a dissector for Wireshark, in Lua, from a resolved unit.
//
// The text has two halves. The first is the unit as tables of Lua: its types, and its programs
// (schema.go). The second is the same for all units, from the folder lua: values.lua declares the
// fields of Wireshark and decodes values by the tables, with the rules of package dynamic.
// placed.lua keeps the payloads of RDMA Writes, and rpc.lua takes the RPC messages that Wireshark
// has found, and pairs Calls and Replies. For a unit without programs, headers.lua is in their
// place: it dissects RPC-over-RDMA version 2, with the header types of the unit and its imports.
package dissector
