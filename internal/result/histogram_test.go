package result

import (
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func TestHistogramRoundTrip(t *testing.T) {
	h := hdr.New(1, 86_400_000_000, 2)
	for _, v := range []int64{0, 1, 127, 128, 1_000_000, 86_400_000_000} {
		if err := h.RecordValues(v, v%7+1); err != nil {
			t.Fatal(err)
		}
	}
	text, err := EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeHistogram(text); err != nil || !got.Equals(h) {
		t.Errorf("decoded %v (%v)", got, err)
	}
}

func TestNoHistogramIsNoText(t *testing.T) {
	if text, err := EncodeHistogram(nil); err != nil || text != "" {
		t.Errorf("encoded as %q (%v)", text, err)
	}
	if h, err := DecodeHistogram(""); err != nil || h != nil {
		t.Errorf("decoded as %v (%v)", h, err)
	}
}

func FuzzBrokenHistogramsAreErrors(f *testing.F) {
	text, err := EncodeHistogram(hdr.New(1, 1000, 2))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{text, text[:len(text)/2], "x", "HISTFAAA", "====", text + text} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if h, err := DecodeHistogram(s); (h == nil) != (err != nil || s == "") {
			t.Errorf("%q gives %v and %v", s, h, err)
		}
	})
}
