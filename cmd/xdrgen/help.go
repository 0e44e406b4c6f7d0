package main

// helpTopics are the help topics that are not commands.
var helpTopics = []string{"compat-rules", "exit-codes", "formats", "lint-rules", "make", "sidecar"}

// help returns the help text of a command or topic. The empty topic is the main help.
func help(topic string) (text string, ok bool) {
	switch topic {
	case "":
		return helpMain, true
	case "check":
		return helpCheck + helpUnit + helpDocument + helpExit, true
	case "gen":
		return helpGen + helpUnit + helpDocument + helpBind + helpExit, true
	case "diff":
		return helpDiff + helpUnit + helpDocument + helpExit, true
	case "dump":
		return helpDump + helpData + helpUnit + helpDocument + helpExit, true
	case "json":
		return helpJSON + helpData + helpUnit + helpDocument + helpExit, true
	case "explain":
		return helpExplain, true
	case "completion":
		return helpCompletion, true
	case "fmt":
		return helpFmt + helpUnit + helpExit, true
	case "lint":
		return helpLint + helpUnit + helpDocument + helpExit, true
	case "lint-rules":
		return helpLintRules(), true
	case "compat":
		return helpCompat + helpUnit + helpDocument + helpExit, true
	case "compat-rules":
		return helpCompatRules(), true
	case "wireshark":
		return helpWireshark + helpUnit + helpDocument + helpExit, true
	case "lsp":
		return helpLSP + helpExit, true
	case "doc":
		return helpDoc + helpUnit + helpDocument + helpExit, true
	case "version":
		return "Print the version of xdrgen.\n\nUsage: xdrgen version\n", true
	case "corpus":
		return helpCorpus + helpExit, true
	case "sidecar":
		return helpBind[1:], true
	case "exit-codes":
		return helpExit[1:], true
	case "formats":
		return helpFormats, true
	case "make":
		return helpMake, true
	}
	return "", false
}

const helpMain = `xdrgen compiles XDR (RFC 4506) and RPC (RFC 5531) definitions to Go.

Examples:
  xdrgen check file.x                       report errors and warnings, with the fix for each
  xdrgen gen -o . -package proto file.x     write a Go package
  xdrgen check -strict -I spec/x spec/x/rpcrdma2/*.x

Commands:
  check       check the files of one unit
  gen         write the Go package of one unit
  diff        show what gen would change
  dump        show the bytes of a value or message, or the calls of a capture
  json        convert XDR to JSON, and JSON to XDR
  explain     explain a finding by its code, with examples
  completion  print a shell completion script
  fmt         format XDR files
  lint        look for hazards in a correct protocol
  compat      report what a change to a protocol breaks
  wireshark   write a dissector for Wireshark and tshark
  lsp         serve an editor: findings as you type, fixes, hover, formatting
  doc         describe a unit in a page, with packet pictures
  corpus      test the compiler on every .x file of a folder
  version     print the version of xdrgen

Further help: xdrgen help COMMAND, sidecar, lint-rules, compat-rules, formats, make, exit-codes
`

const helpCheck = `Check the files of one unit. The files of a unit share one scope.

Usage: xdrgen check [-strict] [-fix] [-format FORMAT] [-I dir] [-D name=value] [-errors n] FILE.x...

Examples:
  xdrgen check nfs_prot.x
  xdrgen check -strict -format json mount.x
  xdrgen check -D MAXNAMELEN=1025 nlm_prot.x
  xdrgen check -fix mount.x
  xdrgen check rfc8166.txt                  the XDR of a document

Findings go to stdout. An error means that the text has no meaning, or more than
one. A warning means that the text departs from the RFC in a way that is common
in real files and has only one reading.

  -fix               apply the fix of each finding that has exactly one, and list these findings;
                     for a file that was extracted from a document, print errata instead
  -strict            exit with code 3 for warnings too
  -format FORMAT     text; json: one object per line, the last of type summary;
                     sarif: a SARIF 2.1.0 log; github: GitHub Actions annotations.
                     See xdrgen help formats
`

const helpGen = `Write the Go package of one unit.

Usage: xdrgen gen -o DIR [-package NAME] [-I dir] [-D name=value] [-import-root PATH] [-bind FILE] [-rename NAME=GoName] [-with NAMES] [-views] [-tests] [-rpc | -async] [-MD [-MF FILE]] FILE.x...
       xdrgen gen -names [-format text|json] [-I dir] [-D name=value] [-bind FILE] [-rename NAME=GoName] [-rpc] FILE.x...

Examples:
  xdrgen gen -o . -package proto proto.x
  xdrgen gen -o gen/rpcrdma2 -package rpcrdma2 spec/x/rpcrdma2/*.x
  xdrgen gen -o gen/ext -package ext -I spec/x -import-root example.org/m/gen spec/x/ext/ext.x
  xdrgen gen -o beat -package beat draft-beat-01.txt    the XDR of a document
  xdrgen gen -names proto.x                             show the Go name of each XDR name
  xdrgen gen -names -rename P_GET=ProcFetch proto.x     try a name before it goes into the sidecar

To use xdrgen in a module of your own, make it a tool of that module, with
  go get -tool github.com/rpcrdma/rpcrdma/cmd/xdrgen
or from a clone as the README says, and add this line to a Go file of the
package, so that go generate runs it:
  //go:generate go tool xdrgen gen -o . -package proto proto.x

The constants of procedures begin with Proc in the lowest version of the first
program of a unit (ProcGet), and with the version's name in other versions, and
in a program that repeats a name (ProgV2Get). So a version or a program that is
added later changes no name that is in use. To choose another name, write a line
"rename PROGRAM.VERSION.PROCEDURE GoName" in the sidecar, or try it with -rename.

gen rewrites only files whose content changes, and prints their names. It names
stale files on stderr: those that an earlier run wrote and this one does not. If
there are errors, it writes nothing.

  -o DIR             output folder
  -package NAME      Go package name; the default is the name of the output folder
  -import-root PATH  import path of the included units: PATH/UNIT, unless the sidecar of UNIT has a package line
  -rename NAME=GO    Go name for NAME, STRUCT.FIELD, UNION.ARM, ENUM.MEMBER, PROGRAM.VERSION or
                     PROGRAM.VERSION.PROCEDURE,
                     like the line "rename NAME GO" in the sidecar
  -with NAMES        optional methods of the Go types, separated by commas, added to those of the
                     default (string) and of the sidecar; none removes all before it:
                       string  String() string, for logs
                       clone   Clone() (*T, error), a deep copy
                       equal   Equal(*T) bool, whether the encodings are equal
                       stream  EncodeTo(io.Writer) error, DecodeFrom(r io.Reader, limit int) error
                       json    MarshalJSON and UnmarshalJSON, in the form of xdrgen json
  -views             also write NAME_view_xdr.go: checks without decoding, views of checked bytes, and
                     scans of lists; like the line "views" in the sidecar
  -tests             also write NAME_xdr_test.go: fuzz, truncation, agreement and allocation tests
  -rpc               also write the folder NAMErpc, a package with a client and a server for each version
                     of the programs (RFC 5531 §12), like the line "rpc" in the sidecar. Their names begin
                     with the version's, but in the lowest version of the first program only if the sidecar
                     renames it, and not to Version or Version1, the name of the constant alone
  -async             like -rpc, and each procedure has a method NAMESubmit in the client that does not
                     wait for the results, like the line "async" in the sidecar
  -names             print a table of all XDR names and their Go names, and write no files. The column
                     why has rule, rename (by the sidecar or the flag) or collision (the name by the
                     rules is taken; words or an underscore tell them apart). The kind list is the Go type
                     of the linked list that a struct is on the wire, where the kind struct is one element.
                     With -rpc, or the line "rpc" in the sidecar, also the client and the server of each
                     version
  -format FORMAT     of the table of -names: text, json (see xdrgen help formats)
  -MD                also write NAME_xdr.d in the output folder, the dependencies of the generated
                     files for make, in the form of gcc -MD -MP: on the .x files and documents, their
                     includes and sidecars (see xdrgen help make)
  -MF FILE           name of the file that -MD writes
`

const helpWireshark = `Write a dissector for Wireshark and tshark, in Lua, for the programs or header types of one unit.

Usage: xdrgen wireshark [-o FILE] [-name NAME] [-known] [-I dir] [-D name=value] [-bind FILE] FILE.x...

Examples:
  xdrgen wireshark -o proto.lua proto.x
  tshark -X lua_script:proto.lua -r proto.pcap
  xdrgen wireshark -known -o nfs.lua -name nfs2 nfs_prot.x

Wireshark 4.0 or newer then shows the RPC messages of these programs with the
names of programs, procedures, statuses and fields, in the column Info too. Every
field can be in a filter: proto.entry.a == 7. Calls and Replies refer
to each other, and a fault is marked with the rule that it breaks.

For a unit without programs, which declares or includes header types of RPC-over-RDMA
version 2, it is the dissector of version 2 with these header types.

  -o FILE            write to FILE instead of standard output
  -name NAME         name of the protocol, with which the names of the fields begin; default: the
                     name of the first file, without .x; of header types rpcrdma2, by which
                     rdmatcp.lua and the dissectors of programs find it
  -known             also show programs that Wireshark knows itself, such as NFS; a preference of the
                     protocol changes it

docs/wireshark.md has more: how to capture, the names of fields, RDMA.
`

const helpCorpus = `Test the compiler on every .x file of a folder: check, generate, vet, build and round-trip.

Usage: xdrgen corpus [-json] [-measure] [-with NAMES] [-views] [-rpc] [-bind DIR] [-I dir] [-root DIR] [-timeout 10m] DIR

Examples:
  xdrgen corpus vendor/x
  xdrgen corpus -json vendor/x | jq 'select(.ok == false)'

Each file is compiled as a unit of its own. A table goes to stdout. The exit
code is 0 if every file gives the expected result:
  - a file that rpcgen accepts must be accepted, build and round-trip; the columns
    "file" and "rpcgen" of MANIFEST.tsv in the folder list these files;
  - a file bad-*.x must be rejected;
  - any other file, if it is accepted, must build and round-trip.
Otherwise the exit code is 3.

  -json              one object per line, the last of type summary
  -measure           no tests: build and vet all packages again, without the build cache, and print
                     the processor time of building and vetting
  -with NAMES        optional methods of the Go types, as for gen
  -views             checks without decoding, views and scans, too
  -rpc               a client and a server for each version of the programs, too
  -bind DIR          folder of sidecars: DIR/a/b.bind for the file a/b.x
  -root DIR          checkout of this project, whose runtime packages are used (default .)
  -timeout D         time limit for the go commands together
`

// helpDocument describes documents in place of .x files.
const helpDocument = `
A document, such as draft.txt, draft.md or draft.xml, can replace a .x
file: its XDR is in the lines that begin with ///, or else in the definitions
that its text has. Findings name the document's lines. The sidecar of draft.txt
is draft.bind.
  -file NAME         the file to read of a document with several, whose lines "@@FILE NAME.x" or
                     "/* FILE ENDS: NAME.x; */" divide its XDR
  -section N,...     the sections to read, for a document without /// or with several units
`

const helpUnit = `  FILE.x             file; a folder stands for its .x files, - for standard input (not with dump and json)
  -I DIR             folder of units, searched first for #include "unit/file.x"
  -D NAME=VALUE      define a constant; without =VALUE, a flag for #ifdef
  -type NAME=XDR     declare a type that the files use but do not declare: -type 'netid=string<64>'
  -import FILE       same as #include "FILE" in the files
  -bind FILE         sidecar (see xdrgen help sidecar); the default is FILE.bind beside a single file,
                     or FOLDER/FOLDER.bind for all .x files of a folder together
  -errors N          show at most N errors; 0 shows all (default 20)
  -color WHEN        always, never, or auto (default): only on a terminal, unless NO_COLOR or TERM=dumb
                     is set; CLICOLOR_FORCE forces it

An #include of a file in another folder imports that folder as a unit: the
generated code uses its declarations and does not repeat them.

A name that no file declares is looked up in three places, with a warning:
  1. %#define lines: constants, and %#define xdr_T xdr_U, which makes T a name for U;
  2. the .x file that has the name of an included C header;
  3. a built-in list of types of the RPC library (netobj, opaque_auth, AUTH_SYS, ...).
#define defines macros as in C, and their values can be expressions. Macros with
arguments are not expanded.

rpcgen runs once for each of its outputs and defines RPC_HDR, RPC_XDR, RPC_SVC,
RPC_CLNT, RPC_TBL or RPC_INTR each time. xdrgen runs once for all outputs: of an
#if that tests only these names it reads the first branch that contains XDR, and
skips the others, with a warning. If -D defines one of them, all of them are
ordinary names.
`

const helpBind = `
Sidecar: what XDR cannot express, one statement per line; # begins a comment.
  package  GOIMPORTPATH
  prefix   TEXT                      remove this prefix from Go names
  rename   XDRNAME GoName            XDRNAME can be struct.field, union.arm, enum.MEMBER, PROGRAM.VERSION,
                                     PROGRAM.VERSION.PROCEDURE (see xdrgen gen -names)
  import   unit/file.x               same as #include
  type     NAME XDRTYPE              type declared elsewhere: type netid string<64>
  define   NAME VALUE                constant declared elsewhere
  open     ENUM                      accept numbers that are not members of the enum
  code     SPACE CONST TYPE|void     type that a code point carries; SPACE is header-type, flag, property,
                                     characteristic, error or operation; the flags that a header type
                                     allows follow its type: FLAG...
  message  STRUCT field.path.to.number
                                     messages begin with this struct; the field is the number of the
                                     header type, whose body follows
  number   STRUCT.FIELD SPACE [DATA [default]]
                                     the field is a number of this space, or flags; DATA, an opaque field of
                                     the struct, has the type of the code point; default: empty DATA is
                                     the default value
  payload  CONST                     a payload follows the body of this header type
  ddp      PROGRAM.VERSION.PROC args|result field.path.to.item
                                     item that direct data placement may move separately
  with     NAME...                   optional methods of the Go types (see xdrgen help gen); none removes
                                     those before it, such as those of the default
  rpc                                clients and servers of the programs, too: same as gen -rpc
  async                              the same, with methods of the clients that do not wait: same as
                                     gen -async
  once     PROGRAM.VERSION.PROC      executing the procedure twice for one call does harm. If a version
                                     has such lines, its other procedures are taken to be idempotent:
                                     clients may send them again after the server has executed them,
                                     and servers execute them again. So name every procedure that does
                                     harm. Without such lines, no procedure is idempotent
  nonblocking PROGRAM.VERSION.PROC   the procedure never waits at the server: not for a lock that is held
                                     for long, a disk, or a call that it makes. The generated service
                                     marks it, and servers run it where they have read the call, without
                                     another goroutine (rpc.Service.NonBlocking)
  reply    PROGRAM.VERSION.PROC field.path
                                     the argument that bounds the results' data and lists without a bound
                                     in the XDR, such as count of a READ. It counts bytes of XDR; generated
                                     clients add the largest size of the rest of the results. A number of
                                     entries does not fit: give the list a bound in the XDR, or set
                                     ClientConfig.MaxReply of package rpc
  views                              checks without decoding, views of checked bytes, and scans of lists
  amend    NAME [CONST...]           the unit adds to NAME, an enum, union or program of an included
                                     unit: what it declares by that name, lines outside definitions
                                     (MEMBER = VALUE and case VALUE: TYPE name;), and the constants
                                     CONST, which become members of the enum
  replace  NAME                      the unit's declaration takes the place of an included unit's
  from     UNIT NAME...              of several included units that declare NAME, this one is meant; the
                                     name of an enum stands for its members too
  attributes STRUCT PREFIX GoName    STRUCT has a bitmap of numbers and an opaque field with a value for each,
                                     as fattr4 of NFS version 4. A Go struct GoName has a field for each
                                     value, and methods Encode and Decode. The numbers are the constants that
                                     begin with PREFIX, of included units too; the type of a value has the
                                     constant's name in small letters (FATTR4_SIZE, fattr4_size)

Lines outside definitions belong to the type that the last comment above them names, or to the only enum
or union that the sidecar amends. The package has the amended declarations and those that contain them, and
imports the others. The lines ddp, once, nonblocking, reply, number, message and open of the included units
hold for them, and their Go names are the same. See docs/adding-an-extension.md, "Amending a protocol".
`

const helpMake = `Generate Go packages from make.

gen -MD writes the dependencies of the generated files, as gcc -MD does for an
object file. This Makefile generates two packages, and each again after a change
of its .x file, a file that it includes, or a sidecar:

XDRGEN = go tool xdrgen

all: gen/proto/proto_xdr.go gen/admin/admin_xdr.go

gen/proto/proto_xdr.go: proto.x
	$(XDRGEN) gen -MD -o gen/proto proto.x

gen/admin/admin_xdr.go: admin.x
	$(XDRGEN) gen -MD -o gen/admin admin.x

-include gen/proto/proto_xdr.d gen/admin/admin_xdr.d

The dependency file has one rule, from all files that gen has read to all that it
has written, with names as on the command line: run make in the same folder. Each
file that gen has found by itself has an empty rule, too, as with gcc -MP. So make
does not stop where an include is no longer there.

With -MD, all generated files get the present time, those with the same content
too, since make compares times. After an error, nothing is written, the old
dependency file stays, and the next make runs gen again. A sidecar that is new
changes no time: run make -B once. Blanks and the characters # $ : * ? [ in names
are escaped; a name with one of % ; | = is refused, since make cannot read it.
`

const helpFormats = `Output formats.

Results go to stdout, everything else to stderr. With -format json, stdout holds
only JSON: one object per line, each with "v" (1) and "type"; the last one has
the type summary. Members may be added later; existing ones do not change. The
schemas are in the repository (https://github.com/rpcrdma/rpcrdma):

  check, lint        docs/schema/findings.json
  lint -sizes        docs/schema/sizes.json
  gen -names         docs/schema/names.json
  corpus -json       docs/schema/corpus.json
  compat             docs/schema/compat.json
  dump               docs/schema/dump.json; of captures and RPC messages, docs/schema/calls.json;
                     with -ladder, docs/schema/ladder.json
  json               docs/schema/value.json; xdrgen help json describes the form of each XDR type

check, lint and compat also have -format sarif (SARIF 2.1.0, in which the edits
of check -fix are fixes) and -format github (GitHub Actions annotations). In the
text format, findings begin with file:line:column, the form that compilers use
and editors recognize.
`

const helpExit = `
Exit codes: 0 success, 1 failure (I/O, internal error), 2 usage error, 3 findings.
go run and go generate turn every failure into 1; go tool passes the code on.
`
