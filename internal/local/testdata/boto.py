"""Drives a local ElastiCache with boto3, as the environment points it there.

Ends with exit code 0 and "ok", or with the first thing that was not as AWS has it.
"""

import datetime
import sys
import time

import boto3
import botocore.exceptions

cache = boto3.client("elasticache")
watch = boto3.client("cloudwatch")
trail = boto3.client("cloudtrail")


def check(truth, what):
    if not truth:
        sys.exit(f"not as it should be: {what}")


def refused(code, call, **parameters):
    """call has to be refused with exactly this code."""
    try:
        answer = call(**parameters)
    except botocore.exceptions.ClientError as error:
        got = error.response["Error"]["Code"]
        check(got == code, f"{call.__name__}{parameters}: {got}, want {code}")
        return error
    sys.exit(f"{call.__name__}{parameters} was accepted: {answer}")


def group():
    return cache.describe_replication_groups(ReplicationGroupId="lb")["ReplicationGroups"][0]


def settled():
    """Waits until the group and all members are available."""
    cache.get_waiter("replication_group_available").wait(
        ReplicationGroupId="lb", WaiterConfig={"Delay": 1, "MaxAttempts": 90})
    deadline = time.monotonic() + 90
    while any(c["CacheClusterStatus"] != "available" for c in cache.describe_cache_clusters()["CacheClusters"]):
        check(time.monotonic() < deadline, "members stay unavailable")
        time.sleep(0.2)


def awaited(pattern):
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        pages = cache.get_paginator("describe_events").paginate(PaginationConfig={"PageSize": 20})
        if any(pattern in e["Message"] for page in pages for e in page["Events"]):
            return
        time.sleep(0.2)
    sys.exit(f"no event with {pattern}")


# What it is.
g = group()
check(g["Status"] == "available" and g["ClusterEnabled"], g)
check(g["ConfigurationEndpoint"]["Port"] > 0, g)
check(g["NodeGroups"][0]["Slots"] == "0-16383", g)
check("CurrentRole" not in g["NodeGroups"][0]["NodeGroupMembers"][0], "roles with cluster mode enabled")
nodes = cache.describe_cache_clusters(ShowCacheNodeInfo=True)["CacheClusters"]
check([n["CacheClusterId"] for n in nodes] == ["lb-0001-001", "lb-0001-002"], nodes)
check(nodes[0]["CacheNodes"][0]["Endpoint"]["Address"] == "127.0.0.1", nodes)

# A failover, and what is refused meanwhile.
answer = cache.test_failover(ReplicationGroupId="lb", NodeGroupId="0001")
check(answer["ReplicationGroup"]["Status"] == "available", answer)
refused("InvalidReplicationGroupState", cache.test_failover, ReplicationGroupId="lb", NodeGroupId="0001")
awaited("Finished recovery for cache nodes 0001")
settled()
for error, call, parameters in [
    (cache.exceptions.ReplicationGroupNotFoundFault, cache.test_failover, {"ReplicationGroupId": "no", "NodeGroupId": "0001"}),
    (cache.exceptions.NodeGroupNotFoundFault, cache.test_failover, {"ReplicationGroupId": "lb", "NodeGroupId": "0009"}),
    (cache.exceptions.ReplicationGroupNotFoundFault, cache.describe_replication_groups, {"ReplicationGroupId": "no"}),
    (cache.exceptions.CacheClusterNotFoundFault, cache.describe_cache_clusters, {"CacheClusterId": "no"}),
    (cache.exceptions.NoOperationFault, cache.increase_replica_count,
     {"ReplicationGroupId": "lb", "NewReplicaCount": 1, "ApplyImmediately": True}),
    (cache.exceptions.InvalidParameterValueException, cache.increase_replica_count,
     {"ReplicationGroupId": "lb", "NewReplicaCount": 6, "ApplyImmediately": True}),
    (cache.exceptions.InvalidParameterCombinationException, cache.decrease_replica_count,
     {"ReplicationGroupId": "lb", "ApplyImmediately": True}),
    (cache.exceptions.InvalidReplicationGroupStateFault, cache.modify_replication_group_shard_configuration,
     {"ReplicationGroupId": "lb", "NodeGroupCount": 1, "ApplyImmediately": True}),
    (cache.exceptions.ReplicationGroupAlreadyExistsFault, cache.create_replication_group,
     {"ReplicationGroupId": "lb", "ReplicationGroupDescription": "again", "ClusterMode": "enabled"}),
]:
    try:
        call(**parameters)
        sys.exit(f"{call.__name__}{parameters} was accepted")
    except error:
        pass

# Replicas come and go.
answer = cache.increase_replica_count(ReplicationGroupId="lb", NewReplicaCount=2, ApplyImmediately=True)
check(answer["ReplicationGroup"]["Status"] == "modifying", answer)
check("lb-0001-003" in answer["ReplicationGroup"]["MemberClusters"], answer)
settled()
check(len(group()["NodeGroups"][0]["NodeGroupMembers"]) == 3, group())
cache.decrease_replica_count(ReplicationGroupId="lb", ReplicasToRemove=["lb-0001-003"], ApplyImmediately=True)
settled()
check(group()["MemberClusters"] == ["lb-0001-001", "lb-0001-002"], group())
cache.decrease_replica_count(ReplicationGroupId="lb", ReplicasToRemove=["lb-0001-002"], ApplyImmediately=True)
awaited("operation failed because the request included deletion of one or more masters: lb-0001-002 for replication group lb")

# Shards come and go.
cache.modify_replication_group_shard_configuration(ReplicationGroupId="lb", NodeGroupCount=2, ApplyImmediately=True)
settled()
check([n["Slots"] for n in group()["NodeGroups"]] == ["0-8191", "8192-16383"], group())
awaited("Moved a total of 8192 slots out of 8192 slots from shard 0001 to shard 0002")
cache.modify_replication_group_shard_configuration(
    ReplicationGroupId="lb", NodeGroupCount=1, NodeGroupsToRemove=["0002"], ApplyImmediately=True)
settled()
check([n["Slots"] for n in group()["NodeGroups"]] == ["0-16383"], group())

# Events by page, in the same order as at once, and filtered.
at_once = cache.describe_events(MaxRecords=100)["Events"]
by_page = [e for page in cache.get_paginator("describe_events").paginate(PaginationConfig={"PageSize": 20}) for e in page["Events"]]
check(len(at_once) > 20 and at_once == by_page[:len(at_once)], "events by page are others")
check(all(a["Date"] >= b["Date"] for a, b in zip(at_once, at_once[1:])), "newest are not first")
ours = cache.describe_events(SourceType="cache-cluster", SourceIdentifier="lb-0001-003")["Events"]
check(any("Added cache node 0001 in availability zone" in e["Message"] for e in ours), ours)
refused("InvalidParameterValue", cache.describe_events, MaxRecords=7)

# Tags.
arn = group()["ARN"]
cache.add_tags_to_resource(ResourceName=arn, Tags=[{"Key": "team", "Value": "ranking"}])
check(cache.list_tags_for_resource(ResourceName=arn)["TagList"] == [{"Key": "team", "Value": "ranking"}], "tags")

# A second group beside the first.
cache.create_replication_group(ReplicationGroupId="Second", ReplicationGroupDescription="of boto3",
                               ClusterMode="enabled", NumNodeGroups=1, ReplicasPerNodeGroup=0, CacheNodeType="cache.m7g.large")
cache.get_waiter("replication_group_available").wait(ReplicationGroupId="second", WaiterConfig={"Delay": 1, "MaxAttempts": 90})
check(len(cache.describe_replication_groups()["ReplicationGroups"]) == 2, "two groups")
cache.delete_replication_group(ReplicationGroupId="second")
cache.get_waiter("replication_group_deleted").wait(ReplicationGroupId="second", WaiterConfig={"Delay": 1, "MaxAttempts": 90})

# CloudWatch.
now = datetime.datetime.now(datetime.timezone.utc)
window = {"StartTime": now - datetime.timedelta(minutes=5), "EndTime": now}
found = [m for page in watch.get_paginator("list_metrics").paginate(Namespace="AWS/ElastiCache", MetricName="IsMaster")
         for m in page["Metrics"]]
check(found, "no metrics")
data = watch.get_metric_data(MetricDataQueries=[{"Id": "m", "MetricStat": {
    "Metric": {"Namespace": "AWS/ElastiCache", "MetricName": "IsMaster",
               "Dimensions": [{"Name": "CacheClusterId", "Value": "lb-0001-002"}]},
    "Period": 1, "Stat": "Maximum"}}], **window)["MetricDataResults"][0]
check(1.0 in data["Values"] and data["StatusCode"] == "Complete", data)
statistics = watch.get_metric_statistics(Namespace="AWS/ElastiCache", MetricName="CurrConnections", Period=1, Statistics=["Average"],
                                         Dimensions=[{"Name": "CacheClusterId", "Value": "lb-0001-001"}], **window)["Datapoints"]
check(statistics and all(p["Average"] > 0 for p in statistics), statistics)

# CloudTrail.
calls = trail.lookup_events(LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": "TestFailover"}])["Events"]
check(calls and calls[0]["EventSource"] == "elasticache.amazonaws.com", calls)
paged = [e for page in trail.get_paginator("lookup_events").paginate(PaginationConfig={"PageSize": 5}) for e in page["Events"]]
check(len(paged) > 5 and len({e["EventId"] for e in paged}) == len(paged), "calls by page")

# Who we are, asked of the local endpoint and not of AWS.
check(boto3.client("sts").get_caller_identity()["Account"] == "000000000000", "identity")
print("ok")
