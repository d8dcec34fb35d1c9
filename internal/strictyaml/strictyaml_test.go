package strictyaml_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/strictyaml"
)

type base struct {
	Workers *int `yaml:"workers"`
}

type child struct {
	base
	Rate *float64 `yaml:"rate"`
}

type root struct {
	Name    string                     `yaml:"name,required"`
	On      bool                       `yaml:"on"`
	Small   int8                       `yaml:"small"`
	Big     int64                      `yaml:"big"`
	Seed    uint64                     `yaml:"seed"`
	Byte    uint8                      `yaml:"byte"`
	Ratio   float64                    `yaml:"ratio"`
	Wait    time.Duration              `yaml:"wait"`
	Words   []string                   `yaml:"words"`
	Items   []child                    `yaml:"items"`
	Options map[string]strictyaml.Text `yaml:"options"`
	Counts  map[string]int             `yaml:"counts"`
	Child   *child                     `yaml:"child"`
	Flag    *child                     `yaml:"flag,flag"`
}

func decode(t *testing.T, text string, set ...string) (root, error) {
	t.Helper()
	doc, err := strictyaml.Parse("x.yaml", []byte(text), strictyaml.Options{})
	if err != nil {
		return root{}, err
	}
	for _, s := range set {
		doc.Set(s)
	}
	var r root
	doc.Decode(&r)
	return r, doc.Err()
}

func ptr[T any](v T) *T { return &v }

func TestValuesOfAllTypesAreDecoded(t *testing.T) {
	got, err := decode(t, `
name: 2020-01-01        # a date is text
on: true
small: -128
big: 10_000_000
seed: 18446744073709551615
byte: 0
ratio: 1_000.5e1
wait: 1h30m
words: [a, "1"]
items:
  - workers: 4
  - { rate: .5e1 , workers: null }
options: { a: 5, b: yes, c: 1m, d: "", e: null, f: 007, a.b: 1.50 }
counts: { "0001": 1 }
child: {}
flag: true
`[1:])
	if err != nil {
		t.Fatal(err)
	}
	want := root{
		Name: "2020-01-01", On: true, Small: -128, Big: 10_000_000, Seed: 1<<64 - 1, Ratio: 10005,
		Wait: 90 * time.Minute, Words: []string{"a", "1"},
		Items:   []child{{base: base{ptr(4)}}, {Rate: ptr(5.0)}},
		Options: map[string]strictyaml.Text{"a": "5", "b": "yes", "c": "1m", "d": "", "f": "007", "a.b": "1.50"},
		Counts:  map[string]int{"0001": 1}, Child: &child{}, Flag: &child{},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestErrorsTellFileLinePathAndWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"word for a number":          {"name: x\nbig: many", `x.yaml:2: big: "many" is not a whole number`},
		"fraction":                   {"name: x\nbig: 1.5", `x.yaml:2: big: 1.5 is not a whole number`},
		"quoted number":              {"name: x\nbig: '5'", `x.yaml:2: big: "5" is text, not a whole number; leave the quotes away`},
		"octal":                      {"name: x\nbig: 010", `x.yaml:2: big: 010 is not a whole number`},
		"hexadecimal":                {"name: x\nbig: 0x10", `x.yaml:2: big: 0x10 is not a whole number`},
		"stray underscore":           {"name: x\nbig: 10_", `x.yaml:2: big: 10_ is not a whole number`},
		"above int8":                 {"name: x\nsmall: 128", `x.yaml:2: small: 128 is out of range, -128 … 127`},
		"above int64":                {"name: x\nbig: 9223372036854775808", `x.yaml:2: big: 9223372036854775808 is out of range, -9223372036854775808 … 9223372036854775807`},
		"below uint":                 {"name: x\nseed: -1", `x.yaml:2: seed: -1 is out of range, 0 … 18446744073709551615`},
		"above uint8":                {"name: x\nbyte: 256", `x.yaml:2: byte: 256 is out of range, 0 … 255`},
		"above float":                {"name: x\nratio: 1e999", `x.yaml:2: ratio: "1e999" is out of range`},
		"not a number":               {"name: x\nratio: .nan", `x.yaml:2: ratio: .nan is not a number`},
		"infinity":                   {"name: x\nratio: .inf", `x.yaml:2: ratio: .inf is not a number`},
		"number for a text":          {"name: 5", `x.yaml:1: name: 5 is not text; put it in quotes if it is meant as text`},
		"yes for true":               {"name: x\non: yes", `x.yaml:2: on: "yes" is not true or false`},
		"duration without a unit":    {"name: x\nwait: 30", `x.yaml:2: wait: 30 has no unit; write one, such as 500ms, 30s, 12m or 1h`},
		"duration in days":           {"name: x\nwait: 1d", `x.yaml:2: wait: "1d" is not a duration, such as 500ms, 30s, 12m or 1h30m`},
		"list for a number":          {"name: x\nbig: [1]", `x.yaml:2: big: a list is not a whole number`},
		"scalar for a list":          {"name: x\nwords: a", `x.yaml:2: words: "a" is not a list`},
		"scalar for a struct":        {"name: x\nchild: 5", `x.yaml:2: child: 5 is not a mapping of keys to values`},
		"false is no struct":         {"name: x\nchild: false", `x.yaml:2: child: false is not a mapping of keys to values`},
		"list for a map":             {"name: x\noptions: [a]", `x.yaml:2: options: a list is not a mapping of keys to values`},
		"mapping for a text":         {"name: x\noptions: {a: {}}", `x.yaml:2: options.a: a mapping is not a single value`},
		"empty item":                 {"name: x\nwords:\n- a\n-\n", `x.yaml:4: words.1: is empty`},
		"near key":                   {"name: x\nchild: {worker: 5}", `x.yaml:2: child.worker: is not a known key; did you mean workers?`},
		"far key":                    {"name: x\nchild: {colour: 5}", `x.yaml:2: child.colour: is not a known key; known here: workers, rate`},
		"missing key":                {"on: true", `x.yaml:1: name: is missing`},
		"missing by null":            {"on: true\nname:", `x.yaml:2: name: is missing`},
		"key twice":                  {"name: x\non: true\nname: y", `x.yaml:3: name: is given twice, first in line 1`},
		"tag":                        {"name: !!str x", `x.yaml:1: name: a tag (!name) is not supported; write the value alone`},
		"merge key":                  {"name: x\nchild: {<<: {}}", `x.yaml:2: child.<<: merge keys (<<) are not supported; write the keys out`},
		"mapping as a key":           {"name: x\n? {a: b}\n: c", `x.yaml:2: a key is not plain text`},
		"null as a key":              {"name: x\n~: c", `x.yaml:2: ~: a key is not plain text`},
		"list for the document":      {"- a", `x.yaml:1: a list is not a mapping of keys to values`},
		"empty":                      {"", `x.yaml:1: is empty`},
		"comments only":              {"# hello\n", `x.yaml:1: is empty`},
		"null":                       {"---\n", `x.yaml:1: is empty`},
		"two documents":              {"name: x\n---\nname: y", `x.yaml:1: several documents (---) are in one file; only one may be`},
		"bad syntax":                 {"name: x\non: [", `x.yaml:2: did not find expected node content`},
		"bad syntax after the end":   {"name: x\n...\n]", `x.yaml:2: did not find expected <document start>`},
		"tab":                        {"name: x\nchild:\n\tworkers: 5", `x.yaml:3: found character that cannot start any token`},
		"unknown anchor":             {"name: x\nbig: *n", `x.yaml:2: an alias (*name) has no anchor (&name) before it; quote the text if it is none`},
		"bytes that are not UTF-8":   {"name: x\nabout: \xff", `x.yaml:2: is not UTF-8 text`},
		"UTF-16":                     {"\xfe\xff\x00n", `x.yaml:1: is not UTF-8 text`},
		"alias of itself":            {"name: x\nitems: &a [*a]", "x.yaml:2: items.0.0: an alias stands for a value that it is part of\nx.yaml:2: items.0: a list is not a mapping of keys to values"},
		"wrong value of an alias":    {"name: &n x\nbig: *n", `x.yaml:2: big: "x" is not a whole number`},
		"value pasted by mistake":    {"name: x\nbig: " + strings.Repeat("é", 99), `x.yaml:2: big: "` + strings.Repeat("é", 60) + `…" is not a whole number`},
		"windows line ends":          {"name: x\r\nbig: y\r\n", `x.yaml:2: big: "y" is not a whole number`},
		"value on a line of its own": {"name: x\nbig:\n  y", `x.yaml:2: big: "y" is not a whole number`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, c.text)
			if fmt.Sprint(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllErrorsAreToldAtOnceByLine(t *testing.T) {
	doc, err := strictyaml.Parse("x.yaml", []byte("big: many\nseed: -1\nname: a\nname: b\n"), strictyaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc.Set("words=a")
	doc.Decode(&root{})
	doc.Errorf("name", "is too short")
	doc.Errorf("child.workers", "is not there")
	want := `x.yaml:1: big: "many" is not a whole number
x.yaml:1: child.workers: is not there
x.yaml:2: seed: -1 is out of range, 0 … 18446744073709551615
x.yaml:4: name: is given twice, first in line 3
--set words: "a" is not a list`
	if got := fmt.Sprint(doc.Err()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if e, ok := errors.AsType[*strictyaml.Errors](doc.Err()); !ok || len(e.List) != 5 || e.List[3].Line != 4 {
		t.Errorf("list is %v", e)
	}
}

func TestAnErrorOfAWrongTypeIsNotFollowedByOneOfItsRange(t *testing.T) {
	doc, _ := strictyaml.Parse("x.yaml", []byte("name: x\nbig: many"), strictyaml.Options{})
	doc.Decode(&root{})
	doc.Errorf("big", "must be above 0")
	if got := doc.Err().Error(); strings.Contains(got, "above 0") {
		t.Error(got)
	}
}

func TestOverridesChangeTheDocument(t *testing.T) {
	const text = "name: x\nitems: [{workers: 1}, {workers: 2}]\ncounts:\n"
	for name, c := range map[string]struct {
		set  []string
		want func(*root)
	}{
		"replaces":            {[]string{"items.1.workers=3"}, func(r *root) { *r.Items[1].Workers = 3 }},
		"underscores":         {[]string{"big=10_000"}, func(r *root) { r.Big = 10_000 }},
		"equals signs":        {[]string{"name=a=b"}, func(r *root) { r.Name = "a=b" }},
		"mapping":             {[]string{"items.0={rate: 2}"}, func(r *root) { r.Items[0] = child{Rate: ptr(2.0)} }},
		"makes a mapping":     {[]string{"child.workers=4"}, func(r *root) { r.Child = &child{base: base{ptr(4)}} }},
		"fills a null":        {[]string{"counts.a=4"}, func(r *root) { r.Counts = map[string]int{"a": 4} }},
		"last one wins":       {[]string{"big=1", "big=2"}, func(r *root) { r.Big = 2 }},
		"builds on another":   {[]string{"items=[{}]", "items.0.rate=1"}, func(r *root) { r.Items = []child{{Rate: ptr(1.0)}} }},
		"empty takes it back": {[]string{"items="}, func(r *root) { r.Items = nil }},
		"quotes":              {[]string{`name="{a}:b"`}, func(r *root) { r.Name = "{a}:b" }},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := decode(t, text)
			c.want(&want)
			got, err := decode(t, text, c.set...)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestWrongOverridesAreToldByTheirFlag(t *testing.T) {
	for set, want := range map[string]string{
		"big":                      `--set big: is not path=value, such as phases.0.duration=30s`,
		"=5":                       `--set =5: is not path=value, such as phases.0.duration=30s`,
		"a..b=5":                   `--set a..b: is not a path such as phases.0.duration`,
		"items.1.workers=5":        `--set items.1.workers: items: has no item 1: it has 1, counted from 0`,
		"items.-1.workers=5":       `--set items.-1.workers: items: is a list: "-1" is not an index, which counts from 0`,
		"items.x=5":                `--set items.x: items: is a list: "x" is not an index, which counts from 0`,
		"name.x=5":                 `--set name.x: name: is a single value and has nothing below it`,
		"big=many":                 `--set big: "many" is not a whole number`,
		"child={worker: 5}":        `--set child.worker: is not a known key; did you mean workers?`,
		"child.worker=5":           `--set child.worker: is not a known key; did you mean workers?`,
		"child={rate: 1, rate: 2}": `--set child.rate: is given twice, first in line 1`,
		"big=[":                    `--set big: value is not YAML, quote it if it is text: did not find expected node content`,
		"big=*a":                   `--set big: value is not YAML, quote it if it is text: an alias (*name) has no anchor (&name) before it; quote the text if it is none`,
		"big=\xff":                 `--set big: is not UTF-8 text`,
		"big=1\n---\n2":            `--set big: value is not YAML, quote it if it is text: several documents (---) are in one file; only one may be`,
		"name=":                    `--set name: is missing`,
	} {
		t.Run(set, func(t *testing.T) {
			_, err := decode(t, "name: x\nitems: [{}]\n", set)
			if fmt.Sprint(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestAFewAliasesCannotStandForBillionsOfValues(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 20 {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	_, err := strictyaml.Parse("x.yaml", []byte(text.String()), strictyaml.Options{})
	if err == nil || !strings.Contains(err.Error(), "more than 20000 values, counting those of aliases") {
		t.Error(err)
	}
	_, err = strictyaml.Parse("x.yaml", []byte("a: "+strings.Repeat("[", 999)+strings.Repeat("]", 999)), strictyaml.Options{})
	if err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
		t.Error(err)
	}
}

func TestSourceIsTheDocumentAfterOverrides(t *testing.T) {
	const text = `
# about this
name: x # here
items:
  - &a { workers: 10_000 }
  - *a
options: {}
on: ~
words: ["null", "5", 'it''s']
`
	const want = `name: x
items:
  - {workers: 10_000}
  - {workers: 3}
options: {a: 5}
on: null
words: ["null", "5", 'it''s']
child:
  workers: 2
`
	doc, err := strictyaml.Parse("x.yaml", []byte(text), strictyaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"items.1.workers=3", "options.a=5", "child.workers=2"} {
		doc.Set(s)
	}
	if got := doc.Source(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	opts := strictyaml.Options{Secret: func(key string) bool { return strings.Contains(key, "big") }}
	for _, text := range []string{
		"big: hunter2", "big: *hunter2", "big: !hunter2 x", "big: 3hunter2", "bigger: hunter2", "words: big=hunter2",
		"big=hunter2: 5", "{big=hunter2}", "big=hunter2", "big: x\nbig=hunter2: 1\nbig=hunter2: 1", "child: {big: hunter2}", "child: {big=hunter2}",
	} {
		doc, err := strictyaml.Parse("x.yaml", []byte(text), opts)
		if err == nil {
			doc.Decode(&root{})
			err = doc.Err()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFilesThatCannotBeReadAreToldByPath(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): ": no such file or directory",
		dir:                             ": is a directory",
		large:                           ": is larger than 1 MiB",
	} {
		_, err := strictyaml.ReadFile(path)
		if fmt.Sprint(err) != "read "+path+want {
			t.Errorf("got %v, want read %s%s", err, path, want)
		}
	}
	if _, err := strictyaml.ReadFile(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing file is not fs.ErrNotExist")
	}
}

func FuzzSource(f *testing.F) {
	f.Add("name: x\nitems: [{workers: 1}]\noptions: {a: 5}\n", "items.0.workers=3")
	f.Add("name: &a \"x\\ny\"\nwords: [*a, ' b', 'c: d', '#']\n", "child.rate=1")
	f.Add("? |\n  long\n  key\n: >\n  folded\n\n  text\n", "a=")
	f.Fuzz(func(t *testing.T, text, set string) {
		doc, err := strictyaml.Parse("x.yaml", []byte(text), strictyaml.Options{})
		if err != nil {
			return
		}
		doc.Set(set)
		var first, second root
		doc.Decode(&first)
		if doc.Err() != nil {
			return
		}
		again, err := strictyaml.Parse("x.yaml", []byte(doc.Source()), strictyaml.Options{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc.Source())
		}
		again.Decode(&second)
		if again.Err() != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v\n%+v\n%v in\n%s", first, second, again.Err(), doc.Source())
		}
		if again.Source() != doc.Source() {
			t.Fatalf("source is not stable:\n%s\n%s", doc.Source(), again.Source())
		}
	})
}
