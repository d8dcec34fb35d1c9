package run

import (
	"errors"
	"testing"

	"github.com/rankbench/rankbench/internal/fail"
)

func TestTheGravestErrorStandsForASeries(t *testing.T) {
	limit := fail.WithCode(errors.New("a limit"), fail.CodeLimit)
	left := fail.WithCode(errors.New("not restored"), fail.CodeNotRestored)
	plain := errors.New("could not begin")
	for _, tt := range []struct {
		errs []error
		code int
	}{
		{[]error{nil, nil}, fail.CodeFine}, {[]error{nil, limit, nil}, fail.CodeLimit}, {[]error{limit, left, nil}, fail.CodeNotRestored},
		{[]error{left, plain}, fail.CodeNotRestored}, {[]error{limit, plain}, fail.CodeFailed}, {nil, fail.CodeFine},
	} {
		err := gravest(tt.errs)
		if code := fail.CodeOf(err); code != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.errs, code, tt.code)
		}
		if n := len(tt.errs); n > 0 && tt.errs[n-1] != nil && !errors.Is(err, tt.errs[n-1]) {
			t.Errorf("%v: %v does not tell the last", tt.errs, err)
		}
	}
}
