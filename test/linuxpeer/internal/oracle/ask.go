package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Config selects questions.
type Config struct {
	Seed uint64 // Seed decides which questions are left out.
	// Share is the number of groups from which one is asked. If zero, the default is 1: all.
	Share int
	// InFlight is the number of groups that are asked at a time. If zero, the default is 8.
	InFlight int
}

// series is a group of questions with one scene. Its answers come in the same order from every
// server.
type series struct {
	name string
	run  func(s *scene)
}

// questions returns the groups that a Config selects.
func questions(cfg Config) []series {
	var list []series
	rnd := rand.New(rand.NewPCG(cfg.Seed, 0))
	for _, family := range []func() []series{
		rights, chmods, setIDs, changes, stickies, names, types, handles, extents, owners, mapped, guards, creates, renames, links, cookies, times, facts,
	} {
		all := family()
		keep := (len(all) + cfg.Share - 1) / cfg.Share
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		list = append(list, all[:keep]...)
	}
	return list
}

// Ask asks a server all questions that cfg selects, and returns the answers: with the same cfg, to
// the same questions in the same order. It makes directories "q0", "q1" and so on in the export,
// and leaves them there. The error is of a server that could not be asked.
func Ask(ctx context.Context, server *Server, cfg Config) ([]Answer, error) {
	cfg.Share, cfg.InFlight = max(cfg.Share, 1), cmp.Or(cfg.InFlight, 8)
	s, err := newSession(server)
	if err != nil {
		return nil, err
	}
	groups := questions(cfg)
	answers, errs := make([][]Answer, len(groups)), make([]error, len(groups))
	next := make(chan int)
	var wg sync.WaitGroup
	for range cfg.InFlight {
		wg.Go(func() {
			for i := range next {
				answers[i], errs[i] = s.group(ctx, fmt.Sprint("q", i), groups[i])
			}
		})
	}
	for i := range groups {
		next <- i
	}
	close(next)
	wg.Wait()
	var all []Answer
	for _, list := range answers {
		all = append(all, list...)
	}
	return all, errors.Join(errs...)
}

// group asks the questions of a group in a new directory.
func (s *session) group(ctx context.Context, dir string, g series) (answers []Answer, err error) {
	sc := &scene{session: s, ctx: ctx, name: g.name, both: true}
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(broken)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("oracle: %s: %w", g.name, b.error)
		}
		answers = sc.answers
	}()
	export := object{s.server.Plain.Root, s.server.Squashed.Root}
	sc.top = sc.make(export, dir, nfs3.FileTypeDir, 0, 0, 0o777)
	g.run(sc)
	return
}
