package reference

import (
	"html"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// procID returns the id of a procedure on the page.
func procID(by user) string { return "proc-" + by.name() }

// programs writes the programs with their versions and procedures.
func (p *page) programs() {
	p.section("Programs", p.ofKind(ir.Program), func(d *ir.Decl) {
		p.put("<section id=\"%s\"><h3><code>%s</code> <small>program %s</small></h3>\n<p class=\"m\">%s", id(d), escape(d.Name), hexNumber(d.Program.Number), versions(len(d.Program.Versions)))
		p.where(d.Pos, true)
		p.put("</p>\n")
		p.doc(d.Doc)
		for _, v := range d.Program.Versions {
			p.version(d, v)
		}
		p.put("</section>\n")
	})
}

// versions returns a number of versions in words.
func versions(n int) string {
	if n == 1 {
		return "1 version"
	}
	return strconv.Itoa(n) + " versions"
}

// version writes the procedures of a version.
func (p *page) version(d *ir.Decl, v *ir.Version) {
	name := escape(v.Name)
	p.put("<h4><code>%s</code> <small>version %d</small></h4>\n", name, v.Number)
	p.doc(v.Doc)
	p.put("<div class=\"s\" tabindex=\"0\" role=\"region\" aria-label=\"Procedures of %s\"><table>\n<thead><tr><th scope=\"col\" class=\"r\">No.<th scope=\"col\">Procedure<th scope=\"col\">Arguments<th scope=\"col\">Result</thead>\n<tbody>\n", name)
	for _, c := range v.Procs {
		p.put("<tr id=\"%s\"><td class=\"r\">%d<td><code>%s</code>", html.EscapeString(procID(user{d, v, c})), c.Number, escape(c.Name))
		p.put(" <small class=\"m\">line ")
		p.number(c.Pos)
		p.put("</small>")
		p.doc(append(append([]string(nil), c.Doc...), c.Tail))
		for _, fact := range p.facts(d, v, c) {
			p.put("<p class=\"u\">%s</p>", escape(fact))
		}
		p.put("<td>")
		for n, a := range c.Args {
			if n > 0 {
				p.put("<br>")
			}
			p.value(a.Type)
		}
		if len(c.Args) == 0 {
			p.value(nil)
		}
		p.put("<td>")
		p.value(c.Result)
		p.put("\n")
	}
	p.put("</tbody></table></div>\n")
}

// value writes the type of an argument or a result, and its size.
func (p *page) value(t *ir.Type) {
	if t == nil {
		p.put("<code>void</code>")
		return
	}
	p.put("<code>")
	for _, part := range declared(t, "") {
		if text := strings.TrimSuffix(part.text, " "); text != "" {
			p.put("%s", p.link(part.ref, text))
		}
	}
	p.put("</code> <small>%s</small>", sizeOf(t))
}
