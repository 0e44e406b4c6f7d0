package oracle

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// guards asks for SETATTR with a guard, and for several attributes at once when some are
// refused.
func guards() []series {
	return []series{
		{"setattr/guard", func(s *scene) {
			f := s.file(s.top, "f", 0o644)
			res, err := s.clients[root].GetAttr(s.ctx, &nfs3.GetAttrArgs{Object: f.plain})
			s.must(err)
			now := res.OK.ObjAttributes.Ctime
			for _, g := range []struct {
				name string
				time nfs3.Time
			}{
				{"a second before", nfs3.Time{Seconds: now.Seconds - 1, Nseconds: now.Nseconds}},
				{"a nanosecond after", nfs3.Time{Seconds: now.Seconds, Nseconds: (now.Nseconds + 1) % 1e9}},
				{"zero", nfs3.Time{}}, {"nanoseconds of 2 seconds", nfs3.Time{Seconds: now.Seconds, Nseconds: 2e9}},
				{"the time", now},
			} {
				for _, u := range []*user{other, owner} {
					res, err := s.clients[u].SetAttr(s.ctx, &nfs3.SetAttrArgs{
						Object: f.plain, NewAttributes: setMode(0o600), Guard: nfs3.SetAttrGuard{Check: true, ObjCtime: g.time},
					})
					answer := text(0, err)
					if err == nil {
						answer = res.Status.String()
					}
					s.ask(g.name+" by "+u.name, answer+"; "+s.attr(f))
				}
			}
		}},
		{"setattr/several", func(s *scene) {
			for i, u := range everyone() {
				for j, a := range []nfs3.SetAttr{
					{Mode: setMode(0o600).Mode, Size: setSize(1).Size},
					{UID: nfs3.SetUID{SetIt: true, UID: 3000}, Size: setSize(1).Size},
					{Mode: setMode(0o640).Mode, GID: nfs3.SetGID{SetIt: true, GID: 7}},
					{Mode: setMode(0o640).Mode, GID: nfs3.SetGID{SetIt: true, GID: 9}},
					{Mode: setMode(0o2640).Mode, GID: nfs3.SetGID{SetIt: true, GID: 7}, Size: setSize(9).Size},
					{Size: setSize(1).Size, Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: nfs3.Time{Seconds: 5}}},
					{Size: setSize(1).Size, Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime}},
				} {
					f := s.file(s.top, fmt.Sprint("f", i, j), 0o666)
					s.ask(fmt.Sprintf("attributes %d by %s", j, u.name), s.setattr(u, f, a)+"; "+s.attr(f))
				}
			}
		}},
	}
}

// times asks for the users that may set times, and for the times that a server keeps.
func times() []series {
	var list []series
	for _, mode := range []nfs3.Mode{0o666, 0o444, 0o000, 0o222} {
		list = append(list, series{fmt.Sprintf("time/rights of mode %04o", mode), func(s *scene) {
			f, d := s.file(s.top, "f", mode), s.directory(s.top, "d")
			s.set(d, setMode(mode))
			for _, u := range everyone() {
				for _, o := range []object{f, d} {
					for _, how := range []nfs3.TimeHow{nfs3.TimeHowSetToServerTime, nfs3.TimeHowSetToClientTime} {
						at := nfs3.Time{Seconds: 7, Nseconds: 8}
						atime, mtime := nfs3.SetAtime{SetIt: how, Atime: at}, nfs3.SetMtime{SetIt: how, Mtime: at}
						kind := kindNames[nfs3.FileTypeReg]
						if &o.plain.Data[0] == &d.plain.Data[0] {
							kind = kindNames[nfs3.FileTypeDir]
						}
						by := fmt.Sprintf(" of a %s, how %d, by %s", kind, how, u.name)
						s.ask("both times"+by, s.setattr(u, o, nfs3.SetAttr{Atime: atime, Mtime: mtime}))
						s.ask("the time of access"+by, s.setattr(u, o, nfs3.SetAttr{Atime: atime}))
						s.ask("the time of change"+by, s.setattr(u, o, nfs3.SetAttr{Mtime: mtime}))
					}
				}
			}
			mixed := nfs3.SetAttr{Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToServerTime}, Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime}}
			for _, u := range everyone() {
				s.ask("one of each by "+u.name, s.setattr(u, f, mixed))
			}
		}})
	}
	return append(list, series{"time/values", func(s *scene) {
		for i, kind := range []nfs3.FileType{nfs3.FileTypeReg, nfs3.FileTypeDir, nfs3.FileTypeLnk, nfs3.FileTypeFifo} {
			o := s.make(s.top, fmt.Sprint("o", i), kind, 1000, 1000, 0o755)
			for _, at := range []nfs3.Time{
				{}, {Nseconds: 1}, {Seconds: 1, Nseconds: 999_999_999}, {Seconds: 1, Nseconds: 1e9}, {Seconds: 1, Nseconds: math.MaxUint32},
				{Seconds: 1<<31 - 1, Nseconds: 5}, {Seconds: 1 << 31, Nseconds: 5}, {Seconds: math.MaxUint32, Nseconds: 5},
			} {
				a := nfs3.SetAttr{
					Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: at}, Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: at},
				}
				answer := s.setattr(owner, o, a)
				res, err := s.clients[root].GetAttr(s.ctx, &nfs3.GetAttrArgs{Object: o.plain})
				s.must(err)
				got := res.OK.ObjAttributes
				s.ask(fmt.Sprintf("%s: %d.%d", kindNames[kind], at.Seconds, at.Nseconds),
					fmt.Sprintf("%s; %d.%d, %d.%d", answer, got.Atime.Seconds, got.Atime.Nseconds, got.Mtime.Seconds, got.Mtime.Nseconds))
			}
		}
	}})
}

// cookies asks for parts of listings.
func cookies() []series {
	return []series{{"cookie/readdir", func(s *scene) {
		c, d := s.clients[owner], s.directory(s.top, "d")
		for i := range 40 {
			s.make(d, fmt.Sprint("file-", i), nfs3.FileTypeReg, 1000, 1000, 0o644)
		}
		for _, count := range []nfs3.Count{0, 1, 64, 100, 128, 200, 256, 512, 1024, 4096, 8192, 1 << 20, math.MaxUint32} {
			seen, calls := map[string]int{}, 0
			args := nfs3.ReadDirArgs{Dir: d.plain, Count: count}
			answer := ""
			for answer == "" {
				res, err := c.ReadDir(s.ctx, &args)
				if calls++; err != nil || res.Status != nfs3.StatusOK {
					answer = failure(res, err)
					break
				}
				list := res.OK.Reply.Entries
				for _, e := range list {
					seen[e.Name.String()]++
				}
				switch {
				case res.OK.Reply.EOF:
					answer = "eof"
				case len(list) == 0 || calls > 100:
					answer = "no end"
				default:
					args.Cookie, args.CookieVerf = list[len(list)-1].Cookie, res.OK.CookieVerf
				}
			}
			for name, n := range seen {
				if n != 1 {
					answer += fmt.Sprintf("; %q %d times", name, n)
				}
			}
			s.ask(fmt.Sprintf("count %d", count), fmt.Sprintf("%s with %d names", answer, len(seen)))
		}
		for _, count := range []nfs3.Count{0, 1, 64, 128, 256, 300, 512, 1024, 8192} {
			for _, most := range []nfs3.Count{128, 512, 8192} {
				res, err := c.ReadDirPlus(s.ctx, &nfs3.ReadDirPlusArgs{Dir: d.plain, DirCount: count, MaxCount: most})
				answer := failure(res, err)
				if err == nil && res.Status == nfs3.StatusOK && len(res.OK.Reply.Entries) == 0 {
					answer += " without an entry"
				}
				s.ask(fmt.Sprintf("dircount %d maxcount %d", count, most), answer)
			}
		}
		first, err := c.ReadDir(s.ctx, &nfs3.ReadDirArgs{Dir: d.plain, Count: 512})
		s.must(err)
		list := first.OK.Reply.Entries
		if len(list) == 0 {
			return
		}
		last := list[len(list)-1].Cookie
		places := map[string]nfs3.ReadDirArgs{
			"the last entry's":           {Cookie: last, CookieVerf: first.OK.CookieVerf},
			"with another verifier":      {Cookie: last, CookieVerf: nfs3.CookieVerf{1, 2, 3}},
			"zero with a verifier":       {CookieVerf: nfs3.CookieVerf{1, 2, 3}},
			"a large one":                {Cookie: 1 << 40, CookieVerf: first.OK.CookieVerf},
			"the largest":                {Cookie: math.MaxUint64, CookieVerf: first.OK.CookieVerf},
			"the largest that is a size": {Cookie: math.MaxInt64, CookieVerf: first.OK.CookieVerf},
		}
		for _, name := range sortedKeys(places) {
			a := places[name]
			a.Dir, a.Count = d.plain, 8192
			res, err := c.ReadDir(s.ctx, &a)
			s.ask("cookie: "+name, failure(res, err))
		}
	}}}
}

// facts asks for what the server says about itself.
func facts() []series {
	return []series{{"facts/server", func(s *scene) {
		c := s.clients[owner]
		info, err := c.FSInfo(s.ctx, &nfs3.FSInfoArgs{FSRoot: s.top.plain})
		s.must(err)
		s.ask("FSINFO properties", fmt.Sprintf("%#x", info.OK.Properties))
		s.ask("FSINFO maxfilesize", fmt.Sprint(info.OK.MaxFileSize))
		s.ask("FSINFO time_delta", fmt.Sprint(info.OK.TimeDelta))
		s.ask("FSINFO rtmax", fmt.Sprint(info.OK.Rtmax))
		s.ask("FSINFO wtmax", fmt.Sprint(info.OK.Wtmax))
		conf, err := c.PathConf(s.ctx, &nfs3.PathConfArgs{Object: s.top.plain})
		s.must(err)
		conf.OK.ObjAttributes = nfs3.PostOpAttr{}
		s.ask("PATHCONF linkmax", fmt.Sprint(conf.OK.Linkmax))
		s.ask("PATHCONF", fmt.Sprint(conf.OK.NameMax, conf.OK.NoTrunc, conf.OK.ChownRestricted, conf.OK.CaseInsensitive, conf.OK.CasePreserving))
		stat, err := c.FSStat(s.ctx, &nfs3.FSStatArgs{FSRoot: s.top.plain})
		s.must(err)
		s.ask("FSSTAT", fmt.Sprintf("%v, free %v, files %v", stat.Status, stat.OK.Abytes <= stat.OK.Fbytes && stat.OK.Fbytes <= stat.OK.Tbytes, stat.OK.Afiles <= stat.OK.Ffiles && stat.OK.Ffiles <= stat.OK.Tfiles))
	}}}
}
