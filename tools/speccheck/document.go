package main

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// document is a document whose sections lay duties on an implementation.
type document struct {
	name    string   // as citations write it: RFC 8166, or the file name of a draft
	label   string   // before a section in docs/conformance.md; empty for RFC 8166
	column  string   // of docs/requirements.md that holds its sections, if it has one
	page    string   // of docs that has its sections
	aliases []string // what -find accepts beside the name
}

const (
	rfc8166 = "RFC 8166"
	rfc8167 = "RFC 8167" // both directions
	rfc8797 = "RFC 8797" // private data of connection setup
	rfc8267 = "RFC 8267" // NFS over RPC-over-RDMA version 1
	rfc5666 = "RFC 5666" // replaced by RFC 8166
	v2      = "draft-ietf-nfsv4-rpcrdma-version-two-00"
	v207    = "draft-ietf-nfsv4-rpcrdma-version-two-07" // its codec alone is implemented
	xchar   = "draft-dnoveck-nfsv4-rpcrdma-xcharext-01"
	rdmatcp = "draft-williams-rdmatcp-00"
	v1      = "draft-ietf-nfsv4-rpcrdma-08" // became RFC 5666
)

// Pages with sections.
const (
	pageV1     = "rfc8166.md"
	pageV2     = "version2.md"
	pageDrafts = "drafts.md"
)

// documents lists the documents in the order of the pages, and of the cells of a table.
var documents = []document{
	{rfc8166, "", rfc8166, pageV1, nil},
	{rfc8167, rfc8167, "BIDIR", pageV1, []string{"bidir"}},
	{rfc8797, rfc8797, "", pageV1, []string{"private data"}},
	{rfc8267, rfc8267, "", pageV1, []string{"nfs binding"}},
	{rfc5666, rfc5666, "", pageV1, nil},
	{v2, "V2", "V2", pageV2, []string{"version-two", "version-two-00", "version 2", "rpcrdma-version-two"}},
	{v207, "V2-07", "", pageV2, []string{"version-two-07"}},
	{xchar, "XCHAR", "XCHAR", pageDrafts, []string{"xchar", "xcharext", "xcharext-01"}},
	{rdmatcp, "RDMATCP", "RDMATCP", pageDrafts, []string{"rdmatcp"}},
	{v1, "V1", "V1", pageDrafts, []string{"rpcrdma-08", "version 1"}},
}

// lookup returns the document of that name, or nil.
func lookup(name string) *document {
	i := slices.IndexFunc(documents, func(d document) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return &documents[i]
}

// called returns the document that a person means by a name: by the name itself, the label, the
// column or an alias, in any case, with or without spaces, "draft-ietf-nfsv4-" or ".txt".
func called(name string) *document {
	name = plainName(name)
	for i := range documents {
		d := &documents[i]
		for _, n := range append([]string{d.name, d.label, d.column, strings.TrimPrefix(d.name, "RFC ")}, d.aliases...) {
			if n != "" && plainName(n) == name {
				return d
			}
		}
	}
	return nil
}

// plainName returns a document's name without what writers leave out.
func plainName(name string) string {
	name = strings.TrimSuffix(path.Base(strings.ToLower(name)), ".txt")
	for _, prefix := range []string{"draft-", "ietf-", "dnoveck-", "williams-", "nfsv4-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name)
}

// short returns the name by which messages tell a person to ask for the document.
func (d *document) short() string {
	if len(d.aliases) > 0 && strings.HasPrefix(d.name, "draft-") {
		return d.aliases[0]
	}
	return d.name
}

//go:embed contents
var contentsFS embed.FS

// contents holds the sections of each document in their order, with their titles.
var contents = func() map[string][]heading {
	out := map[string][]heading{}
	for _, d := range documents {
		file := strings.ToLower(strings.ReplaceAll(d.name, " ", "")) + ".txt"
		text, err := contentsFS.ReadFile("contents/" + file)
		if err != nil {
			panic(err) // a row of documents without a file; a test loads every one
		}
		for line := range strings.Lines(string(text)) {
			number, title, _ := strings.Cut(strings.TrimSpace(line), " ")
			out[d.name] = append(out[d.name], heading{number, title})
		}
	}
	return out
}()

// heading is a section's number and title.
type heading struct{ number, title string }

// children returns the numbers of the sections directly below a section that exists; of "", the
// first level.
func (d *document) children(number string) []string {
	var out []string
	for _, h := range contents[d.name] {
		if parent(h.number) == number {
			out = append(out, h.number)
		}
	}
	return out
}

// parent returns the number of the section above: 4.3 of 4.3.1, and "" of 4.
func parent(number string) string {
	return number[:max(strings.LastIndexByte(number, '.'), 0)]
}

// nearest returns the sections that a person may have meant by a number that the document does not
// have: those beside it.
func (d *document) nearest(number string) []string {
	up := parent(number)
	for up != "" && !(section{d.name, up}).exists() {
		up = parent(up)
	}
	near := d.children(up)
	if up != "" {
		near = append([]string{up}, near...)
	}
	return near
}
