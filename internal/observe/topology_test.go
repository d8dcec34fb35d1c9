package observe

import (
	"reflect"
	"testing"
)

func TestClusterNodesGiveDialableAddresses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []member
	}{
		{
			"Redis 7", "a7 127.0.0.1:7001@17001 myself,master - 0 1795174558000 1 connected 0-5460\n" +
				"67 127.0.0.1:7004@17004 slave a7 0 1795174559083 1 connected\n",
			[]member{{"a7", "127.0.0.1:7001", "127.0.0.1:7001", true}, {"67", "127.0.0.1:7004", "127.0.0.1:7004", false}},
		},
		{
			"hostname before IP", "12 10.0.0.4:6379@1122,lb-0001-001.lb.cache.amazonaws.com master - 0 0 2 connected 0-16383\n",
			[]member{{"12", "lb-0001-001.lb.cache.amazonaws.com:6379", "10.0.0.4:6379", false}},
		},
		{
			"Redis 7.2 with fields and no hostname", "12 10.0.0.4:6379@1122,,tls-port=0,shard-id=ab master - 0 0 2 connected\n",
			[]member{{"12", "10.0.0.4:6379", "10.0.0.4:6379", false}},
		},
		{
			"field where the hostname would be", "12 10.0.0.4:6379@1122,shard-id=ab master - 0 0 2 connected\n",
			[]member{{"12", "10.0.0.4:6379", "10.0.0.4:6379", false}},
		},
		{"its own IP not known yet", "67 :7004@17004 myself,master - 0 0 0 connected\n", []member{{"67", "seed:7004", "seed:7004", true}}},
		{"IPv6", "67 2001:db8::1:7004@17004 master - 0 0 0 connected\n", []member{{"67", "[2001:db8::1]:7004", "[2001:db8::1]:7004", false}}},
		{"Redis 3, no bus port", "67 10.0.0.4:6379 master - 0 0 0 connected\n", []member{{"67", "10.0.0.4:6379", "10.0.0.4:6379", false}}},
		{"failed nodes are members", "67 10.0.0.4:6379@1 master,fail - 0 0 0 connected\n", []member{{"67", "10.0.0.4:6379", "10.0.0.4:6379", false}}},
		{"in handshake", "67 10.0.0.4:6379@1 handshake - 0 0 0 connected\n", []member{}},
		{"without an address", "67 :0@0 master,noaddr - 0 0 0 disconnected\n", []member{}},
		{"not a node", "vars currentEpoch 6 lastVoteEpoch 0\n", []member{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseClusterNodes(tt.text, "seed:6379"); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRoleNamesTheOthers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply []any
		want  role
	}{
		{"primary", []any{"master", int64(9), []any{[]any{"127.0.0.1", "7002", "9"}, []any{"::1", "7003", "9"}}}, role{name: "primary", replicas: []string{"127.0.0.1:7002", "[::1]:7003"}}},
		{"primary alone", []any{"master", int64(0), []any{}}, role{name: "primary"}},
		{"replica whose port is not known yet", []any{"master", int64(0), []any{[]any{"127.0.0.1", "0", "0"}}}, role{name: "primary"}},
		{"replica", []any{"slave", "127.0.0.1", int64(7001), "connected", int64(9)}, role{name: "replica", primary: "127.0.0.1:7001"}},
		{"cut short", []any{"slave"}, role{name: "replica"}},
		{"sentinel", []any{"sentinel", []any{"mymaster"}}, role{name: "sentinel"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := parseRole(tt.reply); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	if _, err := parseRole(nil); err == nil {
		t.Error("an empty reply is no role")
	}
}

func FuzzParseClusterNodes(f *testing.F) {
	f.Add("a7 127.0.0.1:7001@17001,h,k=v myself,master - 0 0 1 connected 0-5460\n", "seed:6379")
	f.Add(":@, , ,\n a b,c d", "")
	f.Fuzz(func(t *testing.T, text, from string) {
		for _, m := range parseClusterNodes(text, from) {
			if m.addr == "" || m.ip == "" {
				t.Errorf("member without an address: %+v", m)
			}
		}
	})
}
