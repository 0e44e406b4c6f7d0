package reference

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

//go:embed page.css
var pageStyle string

// ruler is the id of the ruler that the pictures of a page share.
const ruler = "bits"

// HTML returns the description as a page. It has no script, and refers to no other file; its policy
// forbids both. All text of the unit is escaped.
func HTML(u *ir.Unit, o Options) []byte {
	p := page{unit: newUnit(u, o), lines: map[string]bool{}, files: map[*source.File]int{}}
	style := pageStyle + packet.Style
	hash := sha256.Sum256([]byte(style))
	title := escape(p.title())
	p.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	p.put(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'">`+"\n", base64.StdEncoding.EncodeToString(hash[:]))
	p.put(`<meta name="viewport" content="width=device-width, initial-scale=1">`+"\n<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n", title, style)
	p.put(`<a class="skip" href="#main">Skip the contents</a>` + "\n")
	p.put("<header><h1>%s</h1>\n", title)
	for _, f := range p.Files {
		if text := strings.Join(comment(f.License), "\n"); text != "" {
			p.put("<details><summary>Licence of %s</summary><p class=\"d\" dir=\"auto\">%s</p></details>\n", escape(f.Name), escape(text))
		}
	}
	p.put("</header>\n")
	p.contents()
	p.put("<main id=\"main\">\n%s\n", packet.RulerSymbol(ruler))
	p.programs()
	p.section("Types", p.types(), p.typ)
	p.constants()
	p.put("</main>\n</body>\n</html>\n")
	return []byte(p.out.String())
}

// page writes a page.
type page struct {
	*unit
	out   strings.Builder
	lines map[string]bool // ids of lines that were written
	files map[*source.File]int
}

func (p *page) put(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// id returns the id of a declaration on the page.
func id(d *ir.Decl) string { return html.EscapeString(d.Kind.Word() + "-" + d.Name) }

// href returns the address of a declaration, or "" if it is not on the page.
func (p *page) href(d *ir.Decl) string {
	if d == nil || !p.shown[d] {
		return ""
	}
	return "#" + d.Kind.Word() + "-" + d.Name
}

// link returns a name that refers to a declaration.
func (p *page) link(d *ir.Decl, name string) string {
	if to := p.href(d); to != "" {
		return `<a href="` + html.EscapeString(to) + `">` + escape(name) + `</a>`
	}
	return escape(name)
}

// contents writes the contents of the page.
func (p *page) contents() {
	p.put("<nav aria-label=\"Contents\">\n")
	for _, g := range []struct {
		title string
		decls []*ir.Decl
	}{{"Programs", p.ofKind(ir.Program)}, {"Types", p.types()}, {"Constants", p.ofKind(ir.Const)}} {
		if len(g.decls) == 0 {
			continue
		}
		sorted := slices.SortedStableFunc(slices.Values(g.decls), func(a, b *ir.Decl) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		})
		open := ""
		if len(g.decls) <= 100 {
			open = " open"
		}
		p.put("<details%s><summary>%s (%d)</summary><ul class=\"i\">", open, g.title, len(g.decls))
		for _, d := range sorted {
			p.put("<li>%s", p.link(d, d.Name))
		}
		p.put("</ul></details>\n")
	}
	p.put("</nav>\n")
}

// section writes a section with some declarations. Without declarations it writes nothing.
func (p *page) section(title string, decls []*ir.Decl, write func(*ir.Decl)) {
	if len(decls) == 0 {
		return
	}
	p.put("<h2>%s</h2>\n", title)
	for _, d := range decls {
		write(d)
	}
}

// doc writes a comment.
func (p *page) doc(lines []string) {
	if text := strings.Join(comment(lines), "\n"); text != "" {
		p.put("<p class=\"d\" dir=\"auto\">%s</p>\n", prose(text))
	}
}

// typ writes a type.
func (p *page) typ(d *ir.Decl) {
	kind := d.Kind.Word()
	if d.List != nil {
		kind = "list"
	}
	p.put("<section id=\"%s\"><h3><code>%s</code> <small>%s</small></h3>\n<p class=\"m\">%s", id(d), escape(d.Name), kind, packet.SizeText(d.Size))
	if d.Recursive {
		p.put("; contains itself")
	}
	if d.Anon {
		p.put("; has no name in the text")
	}
	p.where(d.Pos, false)
	p.put("</p>\n")
	p.doc(d.Doc)
	p.definition(d)
	if picture := packet.Of(d); picture != nil {
		p.put("%s", picture.SVG(packet.SVGOptions{Link: p.href, Ruler: ruler}))
	}
	p.usedBy(d)
	p.put("</section>\n")
}

// where writes the place of a declaration: its line on the page, and its section and line in the
// document. If own is set, the page does not show the line elsewhere.
func (p *page) where(at source.Span, own bool) {
	if at.File == nil || at.File.Synthetic {
		return
	}
	w := p.places.of(at)
	name, mark := p.lineID(at), ""
	if own && !p.lines[name] {
		p.lines[name] = true
		mark = ` id="` + name + `"`
	}
	p.put(`; <a%s href="#%s">%s</a>`, mark, name, escape(w.String()))
	if to := w.lineURL(); to != "" {
		p.put(` (<a href="%s">in the text</a>)`, html.EscapeString(to))
	}
	switch to := w.sectionURL(); {
	case to != "":
		p.put(`; <a href="%s">%s</a>`, html.EscapeString(to), escape(w.sectionText()))
	case w.section != "":
		p.put("; %s", escape(w.sectionText()))
	}
}

// lineID returns the id of a line on the page.
func (p *page) lineID(at source.Span) string {
	n, known := p.files[at.File]
	if !known {
		n = len(p.files)
		p.files[at.File] = n
	}
	if n == 0 {
		return "L" + strconv.Itoa(at.Position().Line)
	}
	return fmt.Sprintf("L%d-%d", n, at.Position().Line)
}

// definition writes the XDR of a declaration, with the numbers of its lines.
func (p *page) definition(d *ir.Decl) {
	p.put("<pre tabindex=\"0\" aria-label=\"XDR of %s\">", escape(d.Name))
	for n, l := range definition(d) {
		if n > 0 {
			p.put("\n")
		}
		p.number(l.at)
		for _, part := range l.parts {
			p.put("%s", p.link(part.ref, part.text))
		}
		if l.comment != "" {
			p.put(" <bdi class=\"c\">/* %s */</bdi>", prose(strings.TrimSpace(l.comment)))
		}
	}
	p.put("</pre>\n")
}

// number writes the number of a line, with its id the first time.
func (p *page) number(at source.Span) {
	if at.File == nil || at.File.Synthetic {
		p.put("<b></b>")
		return
	}
	name, n := p.lineID(at), p.places.of(at).line
	if p.lines[name] {
		p.put("<b>%d</b>", n)
		return
	}
	p.lines[name] = true
	p.put("<b id=\"%s\">%d</b>", name, n)
}

// usedBy writes the declarations and procedures that use a declaration.
func (p *page) usedBy(d *ir.Decl) {
	users := slices.DeleteFunc(slices.Clone(p.users[d]), func(by user) bool { return !p.shown[by.decl] })
	if len(users) == 0 {
		return
	}
	open, end := "<p class=\"u\">Used by ", "</p>\n"
	if len(users) > 20 {
		open, end = fmt.Sprintf("<details class=\"u\"><summary>Used by %d others</summary>", len(users)), "</details>\n"
	}
	p.put("%s", open)
	for n, by := range users {
		if n > 0 {
			p.put(", ")
		}
		if by.proc == nil {
			p.put("%s", p.link(by.decl, by.name()))
			continue
		}
		p.put(`<a href="#%s">%s</a>`, html.EscapeString(procID(by)), escape(by.name()))
	}
	p.put("%s", end)
}

// constants writes a table of the constants.
func (p *page) constants() {
	all := p.ofKind(ir.Const)
	if len(all) == 0 {
		return
	}
	p.put("<h2>Constants</h2>\n<div class=\"s\" tabindex=\"0\" role=\"region\" aria-label=\"Constants\"><table>\n<thead><tr><th scope=\"col\">Name<th scope=\"col\" class=\"r\">Value<th scope=\"col\">Comment and uses</thead>\n<tbody>\n")
	for _, d := range all {
		p.put("<tr id=\"%s\"><td><code>%s</code><td class=\"r\">", id(d), escape(d.Name))
		written := value(d.Value)
		p.put("%s", escape(written))
		if decimal := d.Value.Decimal(); decimal != written {
			p.put(" (%s)", decimal)
		}
		p.put("<td>")
		p.doc(append(slices.Clone(d.Doc), d.Tail))
		if d.Pos.File != nil && !d.Pos.File.Synthetic {
			p.put("<p class=\"m\">%s, line ", escape(p.places.of(d.Pos).document))
			p.number(d.Pos)
			p.put("</p>\n")
		}
		p.usedBy(d)
	}
	p.put("</tbody></table></div>\n")
}
