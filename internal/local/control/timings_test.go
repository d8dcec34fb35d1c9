package control

import (
	"strings"
	"testing"
	"time"
)

func TestProfileScalesAndThenOverrides(t *testing.T) {
	p, err := NewProfile(AWSLike, 0.1, map[string]time.Duration{"recovery": 7 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]struct{ got, want time.Duration }{
		"scaled":      {p.ClusterEnabled.Failover, 6100 * time.Millisecond},
		"overridden":  {p.ClusterEnabled.Recovery, 7 * time.Second},
		"in both":     {p.ClusterDisabled.Recovery, 7 * time.Second},
		"TTL is kept": {p.ClusterEnabled.TTL, 5 * time.Second},
	} {
		if got.got != got.want {
			t.Errorf("%s: %v, want %v", name, got.got, got.want)
		}
	}
}

// TestAWSLikeHasTheFieldReportsOffsets holds the profile to what was noted: case
// 2 (cluster mode) and case 1 of the game backend's failure tests.
func TestAWSLikeHasTheFieldReportsOffsets(t *testing.T) {
	p, err := NewProfile(AWSLike, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	offsets := func(t Timings) [3]time.Duration {
		promoted := t.FailoverStart + t.Failover
		return [3]time.Duration{promoted, promoted + t.RecoveryStart, promoted + t.Recovery}
	}
	if got, want := offsets(p.ClusterEnabled), [3]time.Duration{66e9, 199e9, 556e9}; got != want {
		t.Errorf("cluster mode: %v, want %v", got, want)
	}
	if got, want := offsets(p.ClusterDisabled), [3]time.Duration{26e9, 74e9, 408e9}; got != want {
		t.Errorf("not clustered: %v, want %v", got, want)
	}
}

func TestProfileRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, row := range []struct {
		name      string
		scale     float64
		overrides map[string]time.Duration
		want      string
	}{
		{"slow", 1, nil, "neither fast nor aws-like"},
		{Fast, -1, nil, "negative"},
		{Fast, 1, map[string]time.Duration{"fail": 1}, "there are create, delete"},
		{Fast, 1, map[string]time.Duration{"drain": -1}, "negative"},
	} {
		if _, err := NewProfile(row.name, row.scale, row.overrides); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
