// Package abi has the memory layouts of the structures that libibverbs and librdmacm share with
// their callers, for a program that calls the libraries without a C compiler.
//
// The offsets are those of rdma-core on 64-bit processors (amd64 and arm64). The headers of
// rdma-core compile them into every program, so they cannot change between versions. The package
// uses no field behind a pthread mutex, whose size differs between processors. A test compares the
// offsets with those of a C compiler, where one and the headers are installed.
//
// A structure that only the caller or only the library fills in has a Go struct with Put and a
// function Get, which convert it to and from bytes. An object of the library is read at its address
// (Context, MR, QP and others). Addresses are of memory outside the Go heap: the library keeps some
// of them, and the garbage collector must not see them. Of the packages of the provider, only this
// one and lib import unsafe.
package abi
