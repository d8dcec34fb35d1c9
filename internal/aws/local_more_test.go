package aws_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/aws"
)

// TestALostAnswerIsLookedFor puts something between us and ElastiCache that
// loses the answer, or the request.
func TestALostAnswerIsLookedFor(t *testing.T) {
	l := up(t, localOptions(t, 1, 1, "enabled"))
	to, err := url.Parse(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, arrives := range []bool{false, true} { // in this order: events stay
		forward := httputil.NewSingleHostReverseProxy(to)
		f := serve(t, func(w http.ResponseWriter, r *http.Request) {
			form := r.PostForm.Encode()
			r.Body, r.ContentLength = http.NoBody, 0
			if form != "" {
				r.Body, r.ContentLength = body(form), int64(len(form))
			}
			r.Host = to.Host
			if r.PostForm.Get("Action") != "TestFailover" {
				forward.ServeHTTP(w, r)
				return
			}
			if arrives {
				forward.ServeHTTP(&nowhere{}, r)
			}
			hangUp(t, w)
		})
		c := open(t, aws.Options{EndpointURL: f.URL})
		_, err := c.TestFailover(t.Context(), "lb", "0001")
		var doubt *aws.Ambiguous
		if !errors.As(err, &doubt) || f.count("TestFailover") != 1 {
			t.Fatalf("%v after %d requests", err, f.count("TestFailover"))
		}
		if happened, err := c.Confirm(t.Context(), doubt.Call); happened != arrives || err != nil {
			t.Errorf("arrives %v: confirmed %v (%v)", arrives, happened, err)
		}
	}
	awaitAvailable(t, open(t, aws.Options{EndpointURL: l.URL()}), "lb")
}

func TestMetricsAreWhatTheNodesDid(t *testing.T) {
	l := up(t, localOptions(t, 1, 1, "enabled"))
	c := open(t, aws.Options{EndpointURL: l.URL()})
	var addrs, nodes []string
	for _, m := range awaitAvailable(t, c, "lb").Members() {
		addrs, nodes = append(addrs, m.Addr), append(nodes, m.ID)
	}
	began := time.Now().Add(-time.Minute)
	read := func() ([]aws.Series, error) {
		return c.Metrics(t.Context(), nodes, []string{"SortedSetBasedCmds", "IsMaster"}, began, time.Time{}, time.Second)
	}
	eventually(t, func() error { return wantSums(read, 0) }) // counters count from the first sample on
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, DisableIdentity: true})
	defer rdb.Close()
	for range 100 {
		if err := rdb.ZIncrBy(t.Context(), "board", 1, "m").Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error { return wantSums(read, 100) })
	all, err := c.Metrics(t.Context(), nodes, nil, began, time.Time{}, 0)
	if err != nil || len(all) != len(nodes)*len(aws.DefaultMetrics()) || all[0].Stat != "Average" || all[0].Unit != "Percent" {
		t.Errorf("%d series (%v)", len(all), err)
	}
}

// wantSums wants the primary's commands to add up, and its points in order.
func wantSums(read func() ([]aws.Series, error), want float64) error {
	series, err := read()
	if err != nil {
		return err
	}
	if len(series) != 4 || series[0].Node != "lb-0001-001" || series[0].Stat != "Sum" || len(series[0].Points) == 0 || len(series[1].Points) == 0 {
		return fmt.Errorf("series %+v", series)
	}
	sum := 0.0
	for _, p := range series[0].Points {
		sum += p.Value
	}
	switch last := series[1].Points[len(series[1].Points)-1]; {
	case sum != want:
		return fmt.Errorf("%v commands, want %v", sum, want)
	case last.Value != 1 || !slices.IsSortedFunc(series[0].Points, func(a, b aws.Point) int { return a.At.Compare(b.At) }):
		return fmt.Errorf("points %+v", series)
	}
	return nil
}
