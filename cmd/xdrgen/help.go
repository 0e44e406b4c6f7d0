package main

import "runtime/debug"

// helpTopics are those that are no commands.
var helpTopics = []string{"compat-rules", "exit-codes", "formats", "lint-rules", "sidecar"}

// help returns the text on a topic.
func help(topic string) (text string, ok bool) {
	switch topic {
	case "":
		return helpMain, true
	case "check":
		return helpCheck + helpUnit + helpExit, true
	case "gen":
		return helpGen + helpUnit + helpBind + helpExit, true
	case "diff":
		return helpDiff + helpUnit + helpExit, true
	case "dump":
		return helpDump + helpData + helpUnit + helpExit, true
	case "json":
		return helpJSON + helpData + helpUnit + helpExit, true
	case "explain":
		return helpExplain, true
	case "completion":
		return helpCompletion, true
	case "fmt":
		return helpFmt + helpUnit + helpExit, true
	case "lint":
		return helpLint + helpUnit + helpExit, true
	case "lint-rules":
		return helpLintRules(), true
	case "compat":
		return helpCompat + helpUnit + helpExit, true
	case "compat-rules":
		return helpCompatRules(), true
	case "version":
		return "Usage: xdrgen version\n\nPrint the version of this tool.\n", true
	case "corpus":
		return helpCorpus + helpExit, true
	case "sidecar":
		return helpBind[1:], true
	case "exit-codes":
		return helpExit[1:], true
	case "formats":
		return helpFormats, true
	}
	return "", false
}

const helpMain = `xdrgen compiles XDR (RFC 4506) and RPC (RFC 5531) definitions.

Examples:
  xdrgen check file.x                       find faults, with the fix of each
  xdrgen gen -o . -package proto file.x     write a Go package
  xdrgen check -strict -I spec/x spec/x/rpcrdma2/*.x

Commands:
  check       check the files of one unit
  gen         write the Go package of one unit
  diff        show what gen would change
  dump        show the bytes of a value, item by item
  json        turn XDR into JSON, and JSON into XDR
  explain     explain a finding by its code, with examples
  completion  print a script that completes command lines
  fmt         lay files out
  lint        look for hazards in a correct protocol
  compat      tell what a change of a protocol breaks
  corpus      try every .x file of a folder
  version     print the version of this tool

Further help: xdrgen help COMMAND, sidecar, lint-rules, compat-rules, formats, exit-codes
`

const helpCheck = `Check the files of one unit: files that share one scope.

Usage: xdrgen check [-strict] [-fix] [-format FORMAT] [-I dir] [-D name=value] [-errors n] FILE.x...

Examples:
  xdrgen check nfs_prot.x
  xdrgen check -strict -format json mount.x
  xdrgen check -D MAXNAMELEN=1025 nlm_prot.x
  xdrgen check -fix mount.x
  extract -doc rfc8166.txt | xdrgen check -

Findings go to stdout. An error is what has no meaning, or several; a warning
is what real files write beyond the RFC and has one reading only.

  -fix               mend what has just one fix, and say so; of a file that was extracted
                     from a document, print errata instead
  -strict            warnings are findings too: exit code 3
  -format FORMAT     text; json: one object a line, the last of type summary;
                     sarif: a SARIF 2.1.0 log; github: annotations of GitHub Actions;
                     xdrgen help formats tells more
`

const helpGen = `Write the Go package of one unit.

Usage: xdrgen gen -o DIR [-package NAME] [-I dir] [-D name=value] [-import-root PATH] [-bind FILE] [-rename NAME=GoName] [-tests] FILE.x...

Examples:
  xdrgen gen -o . -package proto proto.x
  xdrgen gen -o gen/rpcrdma2 -package rpcrdma2 spec/x/rpcrdma2/*.x
  xdrgen gen -o gen/ext -package ext -I spec/x -import-root example.org/m/gen spec/x/ext/ext.x

In a module of your own, go get -tool github.com/rpcrdma/rpcrdma/cmd/xdrgen pins
the tool, and a line in the package has go generate run it:
  //go:generate go tool xdrgen gen -o . -package proto proto.x

Only files that change are written, and their names printed; stale ones are
named on stderr. With errors nothing is written.

  -o DIR             folder of the package
  -package NAME      Go package name; by default that of the folder
  -import-root PATH  Go import path above the units included, where their sidecars name none
  -rename NAME=GO    Go name of NAME or STRUCT.FIELD, as a line "rename NAME GO" of the sidecar
  -tests             write NAME_xdr_test.go as well: fuzz, truncation, agreement and allocation tests
`

const helpCorpus = `Try every .x file of a folder: check, generate, vet, build and round-trip it.

Usage: xdrgen corpus [-json] [-bind DIR] [-I dir] [-root DIR] [-timeout 10m] DIR

Examples:
  xdrgen corpus vendor/x
  xdrgen corpus -json vendor/x | jq 'select(.ok == false)'

Each file is a unit of its own. A table goes to stdout. Where the folder has a
MANIFEST.tsv with the columns file and rpcgen, a file that rpcgen takes must
get through; a file bad-*.x must be refused; of others, what is accepted must
build and round-trip. Else the exit code is 3.

  -json              one object a line, the last of type summary
  -bind DIR          sidecars: DIR/a/b.bind for the file a/b.x of the folder
  -root DIR          in the checkout of this project, whose runtime is linked (default .)
  -timeout D         for vetting and testing together
`

const helpUnit = `  FILE.x             a folder stands for its .x files, - for standard input (but in dump and json)
  -I DIR             folder of units: #include "unit/file.x" is looked for there first
  -D NAME=VALUE      constant, or with no value a flag for #ifdef
  -type NAME=XDR     type that the files use and do not declare: -type 'netid=string<64>'
  -import FILE       as #include "FILE"
  -bind FILE         sidecar; by default FILE.bind beside a single file, else FOLDER/FOLDER.bind,
                     which belongs to all .x files of the folder together
  -errors N          stop after N errors; 0 shows all (default 20)
  -color WHEN        auto: on a terminal, NO_COLOR, CLICOLOR_FORCE and TERM=dumb minded; always; never

An #include of a file in another folder imports that folder as a unit: its
declarations can be used and are not written again.

A name that no file declares is looked for in %#define lines: those of constants,
and for a type T those that give its routine another's name, %#define xdr_T xdr_U,
where T is read as U. Then in the .x files of the same name as the C headers
included, then in a prelude of the RPC library's own (netobj, opaque_auth,
AUTH_SYS, ...); each is warned about. #define makes macros as in C, with
expressions for values; macros with arguments are not expanded.

rpcgen runs once for each of its outputs and defines RPC_HDR, RPC_XDR, RPC_SVC,
RPC_CLNT, RPC_TBL or RPC_INTR as it does. Of an #if that asks for nothing else, the
first branch that holds XDR is read, for all outputs, and further ones are left out;
each with a warning. With -D and one of the names, they are names like others.
`

const helpBind = `
Sidecar, one statement a line, # begins a comment:
  package  GOIMPORTPATH
  prefix   TEXT                      dropped from Go names
  rename   XDRNAME GoName            also struct.field, PROGRAM.VERSION, PROGRAM.VERSION.PROCEDURE
  import   unit/file.x               as #include
  type     NAME XDRTYPE              declared elsewhere: type netid string<64>
  define   NAME VALUE                constant declared elsewhere
  open     ENUM                      takes numbers that are no members
  code     SPACE CONST TYPE|void     SPACE: header-type, flag, property, characteristic, error, operation
                                     after a header type: the flags that it may have, FLAG...
  ddp      PROGRAM.VERSION.PROC args|result field.path.to.item
`

const helpFormats = `Forms of what the commands print.

Results go to stdout, everything else to stderr. With -format json stdout has
JSON only: one object a line, each with "v" (1) and "type"; the last is of type
summary. Members may be added later; those that are there stay. The schemas are
in the repository (https://github.com/rpcrdma/rpcrdma):

  check, lint        docs/schema/findings.json
  lint -sizes        docs/schema/sizes.json
  corpus -json       docs/schema/corpus.json
  compat             docs/schema/compat.json
  dump               docs/schema/dump.json
  json               docs/schema/value.json; xdrgen help json has the form of each XDR type

check, lint and compat also have -format sarif (SARIF 2.1.0, with the edits of
check -fix as fixes) and -format github (annotations of an Actions run). Findings for
people begin file:line:column, as compilers' do; editors know the form.
`

const helpExit = `
Exit codes: 0 clean, 1 failed (files, the tool itself), 2 usage, 3 findings.
Under go run and go generate all but 0 become 1; go tool passes them on.
`

// version describes the build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "xdrgen (unknown build)"
	}
	out := "xdrgen " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			out += " " + s.Value
		}
	}
	return out + " " + info.GoVersion
}
