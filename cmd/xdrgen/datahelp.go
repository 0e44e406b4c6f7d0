package main

const helpDiff = `Show what gen would change, and write nothing.

Usage: xdrgen diff -o DIR [-package NAME] [-I dir] [-D name=value] [-import-root PATH] [-bind FILE] [-rename NAME=GoName] [-tests] FILE.x...

Examples:
  xdrgen diff -o . -package proto proto.x
  xdrgen diff -o gen/rpcrdma2 -package rpcrdma2 spec/x/rpcrdma2/*.x
  xdrgen diff -o . -package proto proto.x | patch -p0

The unified diff leads from the files that are there, or /dev/null for one that
is missing, to what gen would write, or /dev/null for one that is stale: a run of
gen wrote it, and this one would not. The exit code is 3 where they differ.

  -o DIR             folder of the package
  -package NAME      Go package name; by default that of the folder
  -import-root PATH  Go import path above the units included, where their sidecars name none
  -rename NAME=GO    Go name of NAME or STRUCT.FIELD, as a line "rename NAME GO" of the sidecar
  -tests             look at NAME_xdr_test.go as well
`

const helpDump = `Show the bytes of one value, item by item.

Usage: xdrgen dump -type T [-body FIELD] [-rpc [-proc P]] [-as FORM] [-format text|json] [-rest] [-all] (DATA | - | -hex STRING) FILE.x...

Examples:
  xdrgen dump -type entry -hex 0000000100000000 proto.x
  xdrgen dump -type NFS_PROGRAM.NFS_VERSION.NFSPROC_READ.args call.bin nfs_prot.x
  xdrgen dump -type message -rest -format json - proto.x
  xdrgen dump -rpc -proc NFS_PROGRAM.NFS_VERSION.NFSPROC_READ reply.bin nfs_prot.x
  xdrgen dump -type rpcrdma2_hdr_prefix -body rdma_start.rdma_htype -rpc message.bin spec/x/rpcrdma2/*.x

Each line has the offset, the bytes, and the field's path with its value, or
the count, presence word or end of a list that stands there. At the first byte
that breaks a rule of XDR it stops: what came before is shown, path, offset and
rule go to stderr, and the exit code is 3.

  -format FORMAT  text, or json: a line of type item for each piece, error for the fault, summary at the end
  -rest           bytes may follow the value; they are shown as they are
  -all            show all lines of long opaque data and strings
`

const helpJSON = `Turn XDR into JSON, or with -encode JSON into XDR.

Usage: xdrgen json -type T [-body FIELD] [-rpc [-proc P]] [-encode] [-as FORM] [-bare] [-compact] (DATA | - | -hex STRING) FILE.x...

Examples:
  xdrgen json -type entry -hex 0000000100000000 proto.x
  xdrgen json -type entry -encode -as hex entry.json proto.x
  xdrgen json -type entry -bare data.bin proto.x | xdrgen json -type entry -bare -encode - proto.x

The way from XDR to JSON and back gives the same bytes.

  -encode   the data is JSON, the output XDR
  -bare     the value alone; otherwise {"v":1,"type":"value","xdr_type":T,"value":...}, in and out
  -compact  on one line

  int, unsigned int        number
  hyper, unsigned hyper    string of digits, for numbers lose precision above 2^53; a number is read too
  float, double            number; "NaN", "NaN:" with its bits in hex, "Infinity", "-Infinity"
  quadruple, opaque        string of hex digits
  string                   string where it is UTF-8, else {"hex": "..."}
                           of both, {"hex": ...}, {"base64": ...} and {"text": ...} are read too
  bool                     true, false
  enum                     name of the member; a number where an open enum has no name
  struct                   object with all fields
  union                    {"discriminant": value, "arm": value}; no arm where it is void
  array, linked list       array; the elements of a list are objects without the pointer
  optional (type *name)    null or the value; {"value": ...} where the value itself can be null
`

const helpData = `
  -type T         typedef, enum, struct or union, or PROGRAM.VERSION.PROCEDURE.args or .result
  -body FIELD     the data is a message: behind T, whose number at the path FIELD selects it by the sidecar's lines
                  "code header-type", comes a body; words behind that are the payload
  -rpc            the data is an RPC message (RFC 5531), behind T and body where they are given; arguments follow if
                  the files declare the procedure of the call, else the payload
  -proc P         procedure PROGRAM.VERSION.PROCEDURE that the reply of -rpc answers: its results follow
  -type NAME=XDR  a type that the files use and do not declare, as with check; also -import FILE.x
  -hex STRING     the data, in hex; blanks, colons, commas and 0x are passed over
  -as FORM        form of the XDR: raw, hex, base64 or auto: text that is hex or base64 is taken for it
                  when read; when written, raw, and hex on a terminal
`

const helpExplain = `Explain findings: what they mean, why, a wrong example and a right one.

Usage: xdrgen explain CODE...
       xdrgen explain -list

Examples:
  xdrgen explain XDR0101
  xdrgen explain undefined-type bare-unsigned
  xdrgen explain -list

  -list  all codes, one a line, with the fix of each

The same texts are docs/errors.md.
`

const helpCompletion = `Print a script with which a shell completes commands, flags, their values and files.

Usage: xdrgen completion bash|zsh|fish
       xdrgen completion -types FILE.x...

Examples:
  source <(xdrgen completion bash)
  xdrgen completion zsh > "${fpath[1]}/_xdrgen"
  xdrgen completion fish > ~/.config/fish/completions/xdrgen.fish

  -types  print what -type of dump and json can be in these files, one a line: the scripts ask for it
`
