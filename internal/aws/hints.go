package aws

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
)

const (
	hintSignIn = "Sign in again (`aws sso login`), or renew the temporary credentials (AWS_SESSION_TOKEN and its two keys)."
	hintTLS    = "If a proxy or a private authority signs the endpoint's certificate, set AWS_CA_BUNDLE to its file."
	hintClock  = "Look at this machine's clock, and at which access key and secret key are in use."
	hintModify = "Another change, a snapshot or a recovery is under way: wait until `rankbench describe` shows everything as available."
	hintServer = "AWS has trouble of its own: try again in a minute, and look at health.aws.amazon.com."
	hintQuota  = "Ask AWS for more in Service Quotas, or remove what is not needed."
)

// generalHints are what to do about an error that any call may end in, by its
// code. Source of the codes: "Common Errors" of ElastiCache's API reference.
func generalHints() map[string]string {
	return map[string]string{
		"AccessDenied":                "The caller's IAM policy does not allow this: `rankbench policy` prints what is needed.",
		"AccessDeniedException":       "The caller's IAM policy does not allow this: `rankbench policy` prints what is needed.",
		"UnauthorizedOperation":       "The caller's IAM policy does not allow this: `rankbench policy` prints what is needed.",
		"ExpiredToken":                hintSignIn,
		"ExpiredTokenException":       hintSignIn,
		"InvalidClientTokenId":        "AWS does not know this access key: it was deleted, is of another partition, or AWS_SESSION_TOKEN is missing.",
		"UnrecognizedClientException": "AWS does not know this access key: it was deleted, is of another partition, or AWS_SESSION_TOKEN is missing.",
		"SignatureDoesNotMatch":       hintClock,
		"InvalidSignatureException":   hintClock,
		"IncompleteSignature":         hintClock,
		"RequestExpired":              hintClock,
		"RequestTimeTooSkewed":        hintClock,
		"OptInRequired":               "This region is not enabled for the account.",
		"InvalidAction":               "What answers at this endpoint does not know the operation: look at the endpoint.",
		"UnknownOperationException":   "What answers at this endpoint does not know the operation: look at the endpoint.",

		CodeUnreachable:   "Look at the endpoint, the region, the network and HTTPS_PROXY; a local ElastiCache is started by `rankbench local up`.",
		CodeNoAnswer:      "The network or AWS was too slow, or the connection broke.",
		CodeBadAnswer:     "What answers at this endpoint is not AWS: look at the endpoint and at proxies.",
		CodeNoCredentials: "Set --profile or AWS_PROFILE, sign in (`aws sso login`, `aws configure`), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
	}
}

// faultHints are what to do about what ElastiCache says of a group. Source of
// the codes: its service model.
func faultHints() map[string]string {
	return map[string]string{
		"ReplicationGroupNotFoundFault": "Look at the group's name, the region and the account.",
		"NodeGroupNotFoundFault":        "Node groups are named 0001, 0002 …: `rankbench describe` shows those there are.",
		"CacheClusterNotFound":          "Nodes are named as lb-0001-002: `rankbench describe` shows those there are.",
		"InvalidReplicationGroupState":  hintModify,
		"InvalidCacheClusterState":      hintModify,

		"APICallRateForCustomerExceeded": "AWS allows 15 node groups in 24 hours for TestFailover, in the whole account: wait until the oldest are a day old.",
		"TestFailoverNotAvailableFault":  "AWS has blocked TestFailover for now, as it does during large events, or does not offer it for this group: try again later.",

		"InvalidKMSKeyFault":                         "The group's KMS key is disabled or not accessible: nodes cannot be replaced or added.",
		"InvalidParameterCombination":                "AWS does not allow this for the group as it is: with Multi-AZ or automatic failover a shard keeps at least one replica unless cluster mode is enabled.",
		"InvalidParameterValue":                      "At most 5 replicas a shard; the number must differ from the present one in the right direction.",
		"NoOperationFault":                           "The group has this number of replicas already.",
		"InsufficientCacheClusterCapacity":           "The zone has no node of this type left: try another zone, another type, or later.",
		"ClusterQuotaForCustomerExceeded":            hintQuota,
		"NodeQuotaForCustomerExceeded":               hintQuota,
		"NodeQuotaForClusterExceeded":                hintQuota,
		"NodeGroupsPerReplicationGroupQuotaExceeded": "90 node groups a group by default. " + hintQuota,
		"InvalidVPCNetworkStateFault":                "The group's VPC or its subnets are gone or full.",
		"ServiceLinkedRoleNotFoundFault":             "Once an account: `aws iam create-service-linked-role --aws-service-name elasticache.amazonaws.com`.",
	}
}

// byOperation are hints that hold for one operation only.
func byOperation() map[[2]string]string {
	const shards = "Shards can be changed only with cluster mode enabled, to 1 to 90 of them; to have fewer, name those to remove or to keep."
	return map[[2]string]string{
		{"TestFailover", "InvalidReplicationGroupState"}: "TestFailover wants automatic failover, a replica in the shard, and a group with nothing under way: " +
			"the replacement of the last failed node must have finished. See `rankbench describe` and `rankbench events`.",
		{"TestFailover", "InvalidParameterCombination"}:                             "TestFailover wants automatic failover and a replica in the shard.",
		{"TestFailover", "InvalidParameterValue"}:                                   "A node group is named by up to four digits, such as 0001.",
		{"ModifyReplicationGroupShardConfiguration", "InvalidParameterValue"}:       shards,
		{"ModifyReplicationGroupShardConfiguration", "InvalidParameterCombination"}: shards,
		{"RebootCacheCluster", "InvalidCacheClusterState"}:                          "Nodes of a group with cluster mode enabled cannot be rebooted; others only while nothing is under way.",
		{"DecreaseReplicaCount", "NodeGroupNotFoundFault"}:                          "`rankbench describe` shows the replicas there are.",
	}
}

func hint(operation, code string) string {
	if throttled(code) {
		return "AWS limits the calls of an account, and other tools that poll count, too: wait a minute."
	}
	if text, ok := byOperation()[[2]string{operation, code}]; ok {
		return text
	}
	if text, ok := faultHints()[code]; ok {
		return text
	}
	return generalHints()[code]
}

func throttled(code string) bool {
	_, ok := retry.DefaultThrottleErrorCodes[code]
	return ok
}

// ofCredentials says why there are no credentials. What a credential_process has
// printed is part of the SDK's error where it cannot be parsed, secrets and all.
func (e *Error) ofCredentials(err error) {
	var api smithy.APIError
	var process *processcreds.ProviderError
	var sso *ssocreds.InvalidTokenError
	e.Code, e.Status, e.RequestID = CodeNoCredentials, 0, ""
	switch {
	case errors.As(err, &process):
		e.Message, e.hint = "the profile's credential_process failed", "Run the credential_process of the profile by hand."
	case errors.As(err, &sso):
		e.Message, e.hint = "the SSO session has expired or is invalid", hintSignIn
	case errors.As(err, &api) && api.ErrorCode() != "":
		e.Message = "they could not be fetched: " + clean(api.ErrorCode()) + ": " + messageOf(api)
	default:
		e.Message = "none were found: " + redact(last(err).Error())
	}
}
