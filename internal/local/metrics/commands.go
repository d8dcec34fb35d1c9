package metrics

import "strings"

// ElastiCache names its classes of commands by examples ("get, hget, scard,
// lrange, and so on"; CacheMetrics.Redis). Written out here are the commands of
// Redis 7 by its ACL categories @read, @write, @sortedset, @hash, @string and
// @keyspace, with those that Redis 8 and Valkey 9 have added, without what
// looks at no data (LOLWUT, PFDEBUG, FUNCTION, WATCH and the HELP of
// containers), and without SORT, which is for lists and sets as well, in
// @sortedset. INFO commandstats names subcommands as "object|freq".
//
// A replica's figures have the writes in them that its primary replicates to it,
// as INFO counts them there.
const (
	getTypeCommands = `
bitcount bitfield_ro bitpos dbsize dump exists expiretime geodist geohash geopos georadius_ro georadiusbymember_ro
geosearch get getbit getrange hexists hexpiretime hget hgetall hkeys hlen hmget hpexpiretime hpttl hrandfield hscan
hstrlen httl hvals keys lcs lindex llen lpos lrange memory|usage mget object|encoding object|freq object|idletime
object|refcount pexpiretime pfcount pttl randomkey scan scard sdiff sinter sintercard sismember smembers smismember
sort_ro srandmember sscan strlen substr sunion touch ttl type xinfo|consumers xinfo|groups xinfo|stream xlen xpending
xrange xread xrevrange zcard zcount zdiff zinter zintercard zlexcount zmscore zrandmember zrange zrangebylex
zrangebyscore zrank zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion`

	setTypeCommands = `
append bitfield bitop blmove blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin copy decr decrby del delifeq expire
expireat flushall flushdb geoadd georadius georadiusbymember geosearchstore getdel getex getset hdel hexpire hexpireat
hgetdel hgetex hincrby hincrbyfloat hmset hpersist hpexpire hpexpireat hset hsetex hsetnx incr incrby incrbyfloat
linsert lmove lmpop lpop lpush lpushx lrem lset ltrim migrate move mset msetex msetnx persist pexpire pexpireat pfadd
pfmerge psetex rename renamenx restore restore-asking rpop rpoplpush rpush rpushx sadd sdiffstore set setbit setex
setnx setrange sinterstore smove sort spop srem sunionstore swapdb unlink xack xackdel xadd xautoclaim xclaim xdel
xdelex xgroup|create xgroup|createconsumer xgroup|delconsumer xgroup|destroy xgroup|setid xreadgroup xsetid xtrim zadd
zdiffstore zincrby zinterstore zmpop zpopmax zpopmin zrangestore zrem zremrangebylex zremrangebyrank zremrangebyscore
zunionstore`

	sortedSetCommands = `
bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop
zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex
zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore`

	hashCommands = `
hdel hexists hexpire hexpireat hexpiretime hget hgetall hgetdel hgetex hincrby hincrbyfloat hkeys hlen hmget hmset
hpersist hpexpire hpexpireat hpexpiretime hpttl hrandfield hscan hset hsetex hsetnx hstrlen httl hvals`

	stringCommands = `
append decr decrby delifeq get getdel getex getrange getset incr incrby incrbyfloat lcs mget mset msetex msetnx psetex
set setex setnx setrange strlen substr`

	keyCommands = `
copy dbsize del dump exists expire expireat expiretime flushall flushdb keys migrate move object|encoding object|freq
object|idletime object|refcount persist pexpire pexpireat pexpiretime pttl randomkey rename renamenx restore
restore-asking scan swapdb touch ttl type unlink`
)

// commandColumns says for each command which columns its calls go into; the
// column after each is that of its microseconds.
func commandColumns() map[string][]column {
	out := map[string][]column{}
	for calls, list := range map[column]string{
		getCalls: getTypeCommands, setCalls: setTypeCommands, sortedSetCalls: sortedSetCommands,
		hashCalls: hashCommands, stringCalls: stringCommands, keyCalls: keyCommands,
	} {
		for name := range strings.FieldsSeq(list) {
			out[name] = append(out[name], calls)
		}
	}
	return out
}
