package main

const pageDir = "cmd/xdrgen/internal/page/"

var (
	pageTests    = []string{"cmd/xdrgen/internal/page"}
	browserTests = []string{"cmd/xdrgen/internal/page/build"}
)

// pageMutants are in the page for browsers.
var pageMutants = []mutant{
	{"a file of the disk is included", pageDir + "files.go", "	if !ok {\n		return nil, &fs.PathError{Op: \"open\", Path: name, Err: fs.ErrNotExist}\n	}\n	return []byte", "	if !ok {\n		return os.ReadFile(name)\n	}\n	return []byte", pageTests},
	{"a path is the name of a file", pageDir + "files.go", "!strings.ContainsFunc(u.Name, odd)", "(odd != nil)", pageTests},
	{"another unit has the findings of the last", pageDir + "files.go", "if s.unit != u || s.result", "if s.result", pageTests},
	{"a finding of the sidecar has a place in the text", pageDir + "check.go", "p != nil && s.own(d.Span.File)", "p != nil", pageTests},
	{"errors are not limited", pageDir + "check.go", "diag.Limit(found, maxErrors)", "diag.Limit(found, 0)", pageTests},
	{"the fix of a document is offered", pageDir + "check.go", "|| e.Span.File.Document != nil }", "}", pageTests},
	{"any package name is taken", pageDir + "code.go", "!token.IsIdentifier(o.Package) || ", "", pageTests},
	{"bytes of the page begin at the first byte", pageDir + "decode.go", "		d.Start = d.Items[0].Offset\n", "		d.Start = 0\n", pageTests},
	{"items are not limited", pageDir + "decode.go", "&& len(d.Items) < maxItems", "", pageTests},
	{"bytes are not limited", pageDir + "decode.go", "min(end, d.Start+maxShown)", "end", pageTests},
	{"a link has no end", pageDir + "build/web/page.js", "if (n > largestLink)", "if (false)", browserTests},
	{"a text of another form is taken from a link", pageDir + "build/web/page.js", "typeof s[id] === \"string\" ? s[id] : \"\"", "s[id] ?? \"\"", browserTests},
	{"a run that is out of date continues", pageDir + "build/web/page.js", "worker.terminate(); worker = null; document", "document", browserTests},
	{"a long text is put into its field", pageDir + "build/web/page.js", "text.length > longest ? text : null", "null", browserTests},
	{"characters that turn text are shown", pageDir + "build/web/show.js", "c instanceof Node ? c : visible(c)", "c", browserTests},
}
