package lsp

import (
	"context"
	"path/filepath"
)

// formatting answers textDocument/formatting. The answer of a document that has XDR, or of a
// sidecar, is null: only .x files have a format.
func (s *state) formatting(r *request, m message) error {
	p, failed := decode[place](m.Params)
	if failed != nil {
		return failed
	}
	d, err := s.texts.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	if d.text == nil || filepath.Ext(d.path) != ".x" {
		r.now = func(*analysis) (any, error) { return nil, nil }
		return nil
	}
	old, path, encoding := d.text, d.path, s.client.encoding
	c, format := s.checker(), s.cfg.Format
	r.document, r.text = d, old
	r.job = func(ctx context.Context) (any, error) {
		out, err := format(c.unitOptions(ctx, []string{path}), path, old.bytes)
		if err != nil {
			return nil, err
		}
		return old.replacement(out, encoding), nil
	}
	return nil
}
