package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/ranking"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// number is a source whose operations carry their number in Start.
type number struct{ kind ranking.Kind }

func (s number) Op(n uint64, into *ranking.Op) { into.Kind, into.Start = s.kind, int64(n) }

// answer is a target: it gets the operation's number and the offset at which it was sent.
type answer func(n int64, at time.Duration) error

// takes answers after a time that does not depend on anything.
func takes(d time.Duration) answer {
	return func(int64, time.Duration) error { <-time.After(d); return nil }
}

// bench runs phases in a synctest bubble and keeps what became of every operation.
type bench struct {
	engine Engine
	answer answer

	mu   sync.Mutex
	sent []sent
	all  []Outcome
}

// sent is one call of a target.
type sent struct {
	worker int
	n      int64
	at     time.Duration
	ctx    error // of the operation's context when the answer came
}

func newBench(a answer) *bench {
	b := &bench{answer: a}
	b.engine = Engine{
		Start:    time.Now(),
		Classify: func(error) Class { return Refused },
		Worker:   func(_ plan.Job, w int) (Target, Recorder) { return benchTarget{b, w}, b },
	}
	return b
}

func (b *bench) Record(o Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, o)
}

type benchTarget struct {
	*bench
	worker int
}

func (t benchTarget) Do(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	s := sent{worker: t.worker, n: op.Start, at: t.engine.now()}
	err := t.answer(s.n, s.at)
	s.ctx = ctx.Err()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, s)
	return ranking.Reply{}, err
}

func closedJob(workers int) plan.Job {
	return plan.Job{Kind: ranking.Set, Workers: workers, ErrorPause: 10 * ms, Source: number{ranking.Set}}
}

func openJob(workers int, rate float64, d, patience time.Duration) plan.Job {
	return plan.Job{
		Kind: ranking.Get, Workers: workers, Rate: rate, Patience: patience,
		Schedule: plan.Rate{PerSecond: rate, For: d}, Source: number{ranking.Get},
	}
}

// run runs one phase of a job, which ctx may interrupt.
func (b *bench) run(ctx context.Context, d time.Duration, jobs ...plan.Job) Claimed {
	return b.engine.Run(ctx, plan.Phase{Name: "test", Duration: d, Jobs: jobs}, b.engine.now())
}

func (b *bench) count(keep func(Outcome) bool) int {
	n := 0
	for _, o := range b.all {
		if keep(o) {
			n++
		}
	}
	return n
}

func class(c Class) func(Outcome) bool { return func(o Outcome) bool { return o.Err == c } }

// checkEachOnce: due operations 0 … n-1, each recorded once, sent at most once.
func (b *bench) checkEachOnce(t *testing.T, rate float64, from time.Duration, n int) {
	t.Helper()
	dues := []time.Duration{}
	for _, o := range b.all {
		dues = append(dues, o.Due-from)
	}
	slices.Sort(dues)
	s := plan.Rate{PerSecond: rate, For: time.Hour}
	for i, due := range dues {
		if want, _ := s.Due(uint64(i)); due != want {
			t.Fatalf("recorded operation %d was due at %v, want %v: one is lost or counted twice", i, due, want)
		}
	}
	if len(dues) != n {
		t.Fatalf("%d operations are recorded, %d were due", len(dues), n)
	}
	if got, want := len(b.sent), n-b.count(class(Unsent)); got != want || len(b.numbers()) != got {
		t.Errorf("%d operations were sent, %d different ones, %d are recorded as sent", got, len(b.numbers()), want)
	}
}

func (b *bench) numbers() map[int64]bool {
	seen := map[int64]bool{}
	for _, s := range b.sent {
		seen[s.n] = true
	}
	return seen
}

func TestClosedLoopRunsToTheEndAndWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(takes(30 * ms))
		claimed := b.run(t.Context(), 100*ms, closedJob(3))
		// Each of three workers sends at 0, 30, 60 and 90 ms.
		if len(b.all) != 12 || claimed[ranking.Set] != 12 {
			t.Errorf("%d operations recorded, %d claimed, want 12", len(b.all), claimed[ranking.Set])
		}
		if at := b.engine.now(); at != 120*ms {
			t.Errorf("the phase returned at %v, the last answer comes at 120ms", at)
		}
		for _, o := range b.all {
			if o.Err != OK || o.Due != o.Sent || o.Taken != o.Sent || o.Done-o.Sent != 30*ms || o.Latency() != o.Service() {
				t.Errorf("outcome %+v", o)
			}
		}
	})
}

func TestClosedLoopPausesAfterAnError(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer answer
		want   int // in a second
	}{
		{"refused at once", func(int64, time.Duration) error { return errors.New("refused") }, 100},
		{"refused after 15 ms", func(int64, time.Duration) error { <-time.After(15 * ms); return errors.New("reset") }, 40},
		{"every other one refused", func(n int64, _ time.Duration) error {
			<-time.After(15 * ms)
			if n%2 == 0 {
				return errors.New("reset")
			}
			return nil
		}, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(tt.answer)
				if b.run(t.Context(), time.Second, closedJob(1)); len(b.all) != tt.want {
					t.Errorf("%d operations in a second, want %d", len(b.all), tt.want)
				}
				if b.count(class(Refused)) == 0 {
					t.Error("no error is recorded")
				}
			})
		})
	}
}

func TestClosedLoopWorkersShareNoNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(n int64, _ time.Duration) error { <-time.After(time.Duration(1+n%7) * ms); return nil })
		b.run(t.Context(), 200*ms, closedJob(5))
		for _, s := range b.sent {
			if s.n%5 != int64(s.worker) {
				t.Errorf("worker %d of 5 sent number %d", s.worker, s.n)
			}
		}
		if len(b.numbers()) != len(b.sent) || len(b.sent) < 100 {
			t.Errorf("%d operations have %d numbers", len(b.sent), len(b.numbers()))
		}
	})
}

func TestOpenLoopSendsEachOperationOnceWhenItIsDue(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(takes(5 * ms))
				<-time.After(3 * time.Second) // a phase need not be the first
				from := b.engine.now()
				claimed := b.run(t.Context(), 2*time.Second, openJob(workers, 100, 2*time.Second, time.Second))
				b.checkEachOnce(t, 100, from, 200)
				if claimed[ranking.Get] != 200 {
					t.Errorf("%d are claimed", claimed[ranking.Get])
				}
				for _, o := range b.all {
					if o.Err != OK || o.Sent != o.Due || o.Latency() != 5*ms {
						t.Errorf("outcome %+v, want sent when due", o)
					}
				}
			})
		})
	}
}

// TestOneStallIsChargedToEveryOperationDue is coordinated omission: a server
// that stands still for a second at 100/s keeps a hundred users waiting, though
// only one operation was sent.
func TestOneStallIsChargedToEveryOperationDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(n int64, _ time.Duration) error {
			if n == 100 {
				<-time.After(time.Second)
				return nil
			}
			<-time.After(ms)
			return nil
		})
		b.run(t.Context(), 5*time.Second, openJob(1, 100, 5*time.Second, time.Minute))
		b.checkEachOnce(t, 100, 0, 500)
		slow := b.count(func(o Outcome) bool { return o.Latency() > ms })
		// The stalled one, the 100 that came due meanwhile, and the 10 that
		// came due while the backlog was worked off.
		if slow != 111 {
			t.Errorf("%d operations were slow, want 111", slow)
		}
		if n := b.count(func(o Outcome) bool { return o.Service() > ms }); n != 1 {
			t.Errorf("%d operations had a long service time, want the stalled one", n)
		}
		for _, o := range b.all {
			if o.Due == 1010*ms && o.Latency() != 991*ms {
				t.Errorf("the first behind the stall waited %v, want 991ms", o.Latency())
			}
		}
	})
}

func TestOperationsLaterThanTheirPatienceAreUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(n int64, _ time.Duration) error {
			if n == 0 {
				<-time.After(10 * time.Second)
			}
			<-time.After(ms)
			return nil
		})
		claimed := b.run(t.Context(), 20*time.Second, openJob(1, 10, 20*time.Second, 2*time.Second))
		b.checkEachOnce(t, 10, 0, 200)
		if claimed[ranking.Get] != 200 {
			t.Errorf("%d are claimed: unsent operations came due as well", claimed[ranking.Get])
		}
		// The worker is free at 10.001 s: those due up to 8.0 s are later than 2 s.
		if n := b.count(class(Unsent)); n != 80 {
			t.Errorf("%d are unsent, want the 80 due from 0.1 s to 8.0 s", n)
		}
		for _, o := range b.all {
			if late := o.Taken - o.Due; (late > 2*time.Second) != (o.Err == Unsent) {
				t.Errorf("%v late, patience 2s: recorded as %s", late, o.Err)
			}
		}
	})
}

func TestErrorsOfAnOpenLoopAreRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(n int64, _ time.Duration) error {
			if n%3 == 0 {
				return errors.New("refused")
			}
			<-time.After(5 * ms)
			return nil
		})
		b.run(t.Context(), time.Second, openJob(2, 300, time.Second, time.Second))
		b.checkEachOnce(t, 300, 0, 300)
		if ok, refused := b.count(class(OK)), b.count(class(Refused)); ok != 200 || refused != 100 {
			t.Errorf("%d ok and %d refused, want 200 and 100", ok, refused)
		}
	})
}

func TestInterruptedOpenLoopLosesNothingThatWasDue(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		workers                   int
		service, interrupt, until time.Duration
		due                       int // by the interrupt
	}{
		{"workers waiting", 10, 5 * ms, 3005 * ms, 3005 * ms, 301},
		{"workers busy, a backlog waiting", 2, 500 * ms, 3005 * ms, 3500 * ms, 301},
		{"after the end, a backlog waiting", 1, time.Second, 12_500 * ms, 13 * time.Second, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(takes(tt.service))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(tt.interrupt, cancel)
				claimed := b.run(ctx, 10*time.Second, openJob(tt.workers, 100, 10*time.Second, time.Hour))
				b.checkEachOnce(t, 100, 0, tt.due)
				if claimed[ranking.Get] != uint64(tt.due) {
					t.Errorf("%d are claimed, %d were due", claimed[ranking.Get], tt.due)
				}
				if at := b.engine.now(); at != tt.until {
					t.Errorf("the phase returned at %v, the last answer comes at %v", at, tt.until)
				}
				b.checkNothingSentAfter(t, tt.interrupt)
			})
		})
	}
}

// checkNothingSentAfter also makes sure that answers are waited for, undisturbed.
func (b *bench) checkNothingSentAfter(t *testing.T, interrupt time.Duration) {
	t.Helper()
	for _, s := range b.sent {
		if s.at > interrupt {
			t.Errorf("number %d was sent at %v, after the interrupt", s.n, s.at)
		}
		if s.ctx != nil {
			t.Errorf("number %d was cancelled while it waited for its answer: %v", s.n, s.ctx)
		}
	}
	for _, o := range b.all {
		if o.Due > interrupt {
			t.Errorf("recorded, though it came due at %v, after the interrupt", o.Due)
		}
	}
}

func TestInterruptedClosedLoopWaitsForItsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(takes(400 * ms))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, cancel)
		claimed := b.run(ctx, time.Minute, closedJob(4))
		if len(b.all) != 12 || claimed[ranking.Set] != 12 || b.count(class(OK)) != 12 {
			t.Errorf("%d recorded, %d claimed, want 12, all of them ok", len(b.all), claimed[ranking.Set])
		}
		if at := b.engine.now(); at != 1200*ms {
			t.Errorf("the phase returned at %v, the last answers come at 1.2s", at)
		}
		b.checkNothingSentAfter(t, time.Second)
	})
}

func TestInterruptEndsAnErrorPause(t *testing.T) {
	for _, tt := range []struct {
		name           string
		interrupt, end time.Duration
	}{
		{"before the end", 5 * time.Second, time.Minute},
		{"after the end", 5 * time.Second, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(func(int64, time.Duration) error { return errors.New("refused") })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(tt.interrupt, cancel)
				job := closedJob(1)
				job.ErrorPause = time.Hour
				b.run(ctx, tt.end, job)
				if at := b.engine.now(); at != tt.interrupt {
					t.Errorf("the phase returned at %v, interrupted at %v", at, tt.interrupt)
				}
				b.checkNothingSentAfter(t, 0)
			})
		})
	}
}

func TestClaimedIsWhatIsRecordedAfterTheWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(n int64, _ time.Duration) error {
			<-time.After(time.Duration(n%40) * ms)
			if n%5 == 0 {
				return errors.New("refused")
			}
			return nil
		})
		<-time.After(time.Second)
		ph := plan.Phase{Warmup: time.Second, Duration: 2 * time.Second, Jobs: []plan.Job{
			closedJob(3), openJob(2, 150, 3*time.Second, 20*ms),
		}}
		claimed := b.engine.Run(t.Context(), ph, time.Second)
		var want Claimed
		for _, o := range b.all {
			if o.Due >= 2*time.Second {
				want[o.Kind]++
			}
		}
		if claimed != want {
			t.Errorf("claimed %v, recorded %v", claimed, want)
		}
		if want[ranking.Get] != 300 || b.count(class(Unsent)) == 0 || b.count(class(Refused)) == 0 {
			t.Errorf("%d gets in the measured part, %d unsent, %d refused: the test does not test", want[ranking.Get], b.count(class(Unsent)), b.count(class(Refused)))
		}
	})
}

func TestEveryWorkerIsMadeOnceBeforeTheFirstOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(takes(ms))
		made := map[string]int{}
		inner := b.engine.Worker
		b.engine.Worker = func(j plan.Job, w int) (Target, Recorder) {
			if len(b.sent) > 0 {
				t.Error("a worker was made after the first operation")
			}
			made[fmt.Sprint(j.Kind, w)]++
			return inner(j, w)
		}
		b.run(t.Context(), 20*ms, closedJob(2), openJob(1, 100, 20*ms, time.Second))
		if made["set 0"] != 1 || made["set 1"] != 1 || made["get 0"] != 1 || len(made) != 3 {
			t.Errorf("made %v", made)
		}
	})
}
