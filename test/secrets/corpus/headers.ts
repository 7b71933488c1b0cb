/** Headers of requests and answers, alone, in lists, on command lines and in logs. */
import { secretTexts } from './entry.ts';

export const HEADER_TEXTS = secretTexts(String.raw`
Authorization: Bearer «»
Authorization: Basic «»
Authorization: Token «»
Authorization: Token token="«»"
Authorization: ApiKey «»
Authorization: «»
authorization:Bearer «»
Authorization : Bearer «»
Authorization: Digest username="ann", realm="x", nonce="n", uri="/", response="«»", opaque="o"
Authorization: Digest username="ann", response="«»"↵Host: h
Authorization: AWS4-HMAC-SHA256 Credential=AK/20260101/x, SignedHeaders=host, Signature=«»
Authorization: OAuth oauth_consumer_key="x", oauth_token="«»", oauth_signature="«»"
Authorization: Hawk id="x", ts="1", nonce="n", mac="«»"
Authorization: Negotiate «»==
Authorization: Signature keyId="x",algorithm="rsa",signature="«»"
Proxy-Authorization: Basic «»
X-Api-Key: «»
X-API-KEY=«»
X-Auth-Token: «»
X-CSRF-Token: «»
X-XSRF-TOKEN: «»
X-Amz-Security-Token: «»
X-Vault-Token: «»
X-Gitlab-Token: «»
Private-Token: «»
Ocp-Apim-Subscription-Key: «»
Api-Key: «»
X-Goog-Api-Key: «»
Cookie: theme=dark; sid=«»
Cookie: sessionid=«»; csrftoken=«»
Cookie: a="x, «»"; b=«»
cookie: a=b, c=«»
Set-Cookie: a=«»; Path=/; HttpOnly
set-cookie: ['sid=«»; Path=/', 'b=«»']
Host: h↵Cookie: a=«»; b=c↵Accept: */*
GET / HTTP/1.1\r\nAuthorization: Bearer «»\r\nHost: h\r\n
"Cookie: a=b; c=«»\r\nHost: h"
curl -H 'Authorization: Bearer «»' https://x
curl -H "X-Api-Key: «»" https://x
curl --header 'Cookie: sid=«»' https://x
curl --cookie 'sid=«»' https://x
curl --oauth2-bearer «» https://x
{'Cookie': 'a=b; c=«»', 'Host': 'h'}
{"set-cookie":["sid=«»; Path=/"],"etag":"x"}
headers={'Authorization': 'Bearer «»'}
send: b'GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic «»\r\n\r\n'
> Authorization: Bearer «»
< Set-Cookie: SESSION=«»; Path=/
[header] authorization="Bearer «»"
WWW-Authenticate: Bearer error="x", token="«»"
Sec-WebSocket-Protocol: bearer, token=«»
grpc-metadata: authorization=Bearer «»
['Bearer «»', 1]
got Bearer «» from ann
Basic «dXNlcjpodW50ZXIyaHVudGVy»
`);
