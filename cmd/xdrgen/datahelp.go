package main

const helpDiff = `Show what gen would change, without writing anything.

Usage: xdrgen diff -o DIR [-package NAME] [-I dir] [-D name=value] [-import-root PATH] [-bind FILE] [-rename NAME=GoName] [-with NAMES] [-views] [-tests] [-rpc | -async] FILE.x...

Examples:
  xdrgen diff -o . -package proto proto.x
  xdrgen diff -o gen/rpcrdma2 -package rpcrdma2 spec/x/rpcrdma2/*.x
  xdrgen diff -o . -package proto proto.x | patch -p0

diff prints a unified diff from the existing files to those that gen would
write. A file that does not exist yet is compared with /dev/null, and so is a
stale file: one that an earlier run of gen wrote and this one would not. The
exit code is 3 if there are differences.

  -o DIR             output folder of gen
  -package NAME      Go package name; the default is the name of the output folder
  -import-root PATH  import path of the included units: PATH/UNIT, unless the sidecar of UNIT has a package line
  -rename NAME=GO    Go name for NAME or STRUCT.FIELD, like the line "rename NAME GO" in the sidecar
  -with NAMES        optional methods of the Go types, separated by commas, added to those of the
                     default (string) and of the sidecar; none removes all before it:
                       string  String() string, for logs
                       clone   Clone() (*T, error), a deep copy
                       equal   Equal(*T) bool, whether the encodings are equal
                       stream  EncodeTo(io.Writer) error, DecodeFrom(r io.Reader, limit int) error
                       json    MarshalJSON and UnmarshalJSON, in the form of xdrgen json
  -views             also compare NAME_view_xdr.go, like the line "views" in the sidecar
  -tests             also compare NAME_xdr_test.go
  -rpc               also compare the clients and servers in the folder NAMErpc
  -async             the same, of clients with methods that do not wait
`

const helpDump = `Show the calls of a capture, or the bytes of a value or message, item by item.

Usage: xdrgen dump [-v] [-json] [-xid N] [-program P] [-procedure P] (CAPTURE | MESSAGES) [FILE.x...]
       xdrgen dump -ladder text|svg [-json] [-xid N] [-program P] [-procedure P] CLIENT-CAPTURE SERVER-CAPTURE [FILE.x...]
       xdrgen dump (-type T | -message [-type T]) [-rpc [-proc P]] [-split HOW] [-as FORM] [-format text|json] [-rest] [-all] [-width N] (DATA | - | -hex STRING) FILE.x...

Examples:
  xdrgen dump calls.pcapng proto.x          a line for each call
  xdrgen dump -v -xid 0x1a2b calls.pcapng proto.x
  xdrgen dump -json -procedure P.V.P_GET calls.pcapng proto.x
  xdrgen dump -ladder text client.pcapng server.pcapng proto.x
  xdrgen dump -ladder svg client.pcapng server.pcapng proto.x > ladder.svg
  xdrgen dump -type entry -hex 0000000100000000 proto.x
  xdrgen dump -type NFS_PROGRAM.NFS_VERSION.NFSPROC_READ.args call.bin nfs_prot.x
  xdrgen dump -type message -rest -format json - proto.x
  xdrgen dump -width 72 -type entry -hex 0000000100000000 proto.x
  xdrgen dump -rpc -proc NFS_PROGRAM.NFS_VERSION.NFSPROC_READ reply.bin nfs_prot.x
  xdrgen dump -message message.bin spec/x/rpcrdma2/*.x
  xdrgen dump -message -rpc -split lines messages.hex spec/x/rpcrdma2/*.x

A capture is a pcap or pcapng file of RPC over UDP, TCP, iWARP or RDMATCP, also
one of rpcrdma -pcap. Its calls are printed when their replies come: the seconds
since the first packet, the milliseconds up to the reply's last byte, connection
and XID, procedure and arguments, status or results. A file of RPC messages with
record marks, or of one RPC message, is shown in the same way. Lines with "!" say
what the capture lacks. Encrypted connections are not decoded. Programs that no
FILE.x declares have numbers.

  -v              the bytes of both messages, too
  -xid N          only calls with this XID; may be repeated, as the next two
  -program P      only calls of a program, by name or number
  -procedure P    only calls of a procedure: PROGRAM.VERSION.PROCEDURE, its name, or its number
  -json           one object per line, of type connection, call or note, and a summary; as -format json
  -ladder HOW     join the captures of client and server, taken at the same time, and show where the time of each
                  call went: waited, from the first byte of the Call to the last at the client; sent, until the
                  server had it; served, until the server began to reply; received, until the client had the
                  reply. The difference of the two clocks is estimated, and shown with its error.
                  text: arrows in lines; svg: a picture of the first 60 calls

Without a capture, each line shows the offset, the bytes, the path of the field, and its value. For
arrays, optional data and lists, a line shows the count, the presence word or
the end. At the first byte that breaks a rule of XDR, dump stops: it shows what
it decoded, reports the path, offset and rule on stderr, and exits with code 3.

By the sidecar, dump also shows the names of code points: of header types, flags
and errors. Opaque data whose type a number selects, such as the value of a
property, is decoded. A fault in such data is reported, and dump continues after
the data. A number without a code point is shown as unknown; it is not a fault.

  -split HOW      several values or messages in one input. Offsets count from the start of each.
                  lines: text with one on each line, in hex or base64; records: each one after a record
                  mark (RFC 5531 section 11); ends: each begins where the one before ends, and a message
                  with a payload is the last. With lines and records, dump continues after a fault
  -format FORMAT  text; json: one object of type item per line, type message before each of several values,
                  type error for a fault, and a summary at the end
  -rest           allow bytes after the value, and show them undecoded
  -all            show all lines of long opaque data and strings
  -width N        lines of at most N columns, with 4 bytes each: 72 fits the text of an RFC. Long items are folded
`

const helpJSON = `Convert XDR to JSON, or JSON to XDR with -encode.

Usage: xdrgen json (-type T | -message [-type T]) [-rpc [-proc P]] [-encode] [-as FORM] [-bare] [-compact] (DATA | - | -hex STRING) FILE.x...

Examples:
  xdrgen json -type entry -hex 0000000100000000 proto.x
  xdrgen json -type entry -encode -as hex entry.json proto.x
  xdrgen json -type entry -bare data.bin proto.x | xdrgen json -type entry -bare -encode - proto.x

Converting XDR to JSON and back gives the same bytes. Opaque data is written as
hex, also where dump decodes it. -encode does not accept whole messages.

  -encode   read JSON and write XDR
  -bare     read or write the value alone, without the object {"v":1,"type":"value","xdr_type":T,"value":...}
  -compact  write one line

  int, unsigned int        number
  hyper, unsigned hyper    string of digits, because JSON readers lose precision above 2^53; a number is accepted too
  float, double            number; "NaN", "NaN:" with its bits in hex, "Infinity", "-Infinity"
  quadruple, opaque        string of hex digits
  string                   string if it is UTF-8, else {"hex": "..."}
                           opaque and string also accept {"hex": ...}, {"base64": ...} and {"text": ...}
  bool                     true, false
  enum                     name of the member; a number if an open enum has no name for it
  struct                   object with all fields
  union                    {"discriminant": value, "arm": value}; no "arm" if it is void
  array, linked list       array; the elements of a list are objects without the next pointer
  optional (type *name)    null or the value; {"value": ...} if the value itself can be null
`

const helpData = `
  -type T         type of the data: a typedef, enum, struct or union, or PROGRAM.VERSION.PROCEDURE.args or .result;
                  UNIT/T if several included units declare T
  -message        the data is a whole message, with the members prefix, body, data and payload. The message lines of
                  the sidecars name the prefix; if they name several, -type chooses. The number in it selects the type
                  of the body by the code header-type lines, and a payload line says that a payload follows. The data
                  of an error follow the body. If the number has no code line, the rest is undecoded. See
                  xdrgen help sidecar
  -rpc            the data is an RPC message (RFC 5531), or with -message the payload is, or with -type it follows
                  the value. The arguments of a call are decoded if the files declare its procedure, else shown as
                  payload
  -proc P         with -rpc: the procedure PROGRAM.VERSION.PROCEDURE that a reply answers, whose results are decoded
  -type NAME=XDR  declare a type that the files use but do not declare, as with check
  -hex STRING     the data, in hex; blanks, colons, commas and 0x are ignored
  -as FORM        form of the XDR: raw, hex, base64 or auto (default). auto reads text that is hex or base64 as such,
                  and writes hex to a terminal and raw bytes elsewhere
`

const helpExplain = `Explain findings: what they mean, why, and an example that is wrong and one that is right.

Usage: xdrgen explain CODE...
       xdrgen explain -list

Examples:
  xdrgen explain XDR0101
  xdrgen explain undefined-type bare-unsigned
  xdrgen explain -list

  -list  list all codes, one per line, with the fix for each

docs/errors.md has the same texts.
`

const helpCompletion = `Print a script that makes a shell complete commands, flags, their values and files.

Usage: xdrgen completion bash|zsh|fish
       xdrgen completion -types FILE.x...

Examples:
  source <(xdrgen completion bash)
  xdrgen completion zsh > "${fpath[1]}/_xdrgen"
  xdrgen completion fish > ~/.config/fish/completions/xdrgen.fish

  -types  list the values of -type that dump and json accept for these files, one per line; the scripts use this
`
