/** What looks a little like a secret and is none: it must come out as it is. */
import { harmlessTexts } from './entry.ts';

export const HARMLESS_TEXTS = harmlessTexts(String.raw`
token_count: 5
tokens: 512
tokens_used=17
max_tokens=4096
{'max_tokens': 100, 'user': 'x'}
{"maxTokens": 4096, "model": "m"}
prompt_tokens=5, completion_tokens=7
{"usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}}
{"cached_tokens": 7, "reasoning_tokens": 9}
token_type=bearer
{"token_type": "bearer", "expires_in": 3600}
token_expires_at: 2026-01-01
{'token_ttl': 30}
{"tokenLength": 12}
tokenizer=gpt2
{'tokenizer': 'bert-base-uncased'}
tokenize(text)
tokenizers==0.19.1
detokenized: x
tokenization: bpe
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
SyntaxError: Unexpected token } in JSON at position 5
The token expired at 12:00
token expired
broken: 5
password reset requested for bob
ValueError: password too short
password_length: 12
{"passwordLength": 12, "password_policy": "strong"}
has_password: true
{"hasPassword": true, "password_changed_at": "2026-01-01"}
{'password': None}
{"password": null}
{'password': ''}
{"password": "", "token": ""}
{'password': True}
{"password": "***", "user": "ann"}
reset_password(user_id=5)
('password-reset', 5)
task tasks.send_password_reset received
{'task': 'accounts.send_password_reset', 'id': 3}
{"template": "password_reset_email", "to": "ann@example.org"}
{"event": "password_changed", "user": 3}
passwordless=True
{'passwordless_login': 'on'}
passport=A1
{"passport": "X123", "visa": "B"}
passed: 5
tests passed: 12, failed: 0
{'passed': 12, 'failed': 0}
passenger: 5
{'passengers': ['ann', 'bob']}
passing: yes
passive=True
passes=3
pass_count: 3
{"pass_rate": 0.93}
bypass=True
{'bypass_cache': 'yes'}
compass: north
compassion: 5
encompass: x
overpass=a
secretary: Ann
{'secretary': 'Ann', 'secretariat': 'b'}
secretion: 1
secret_santa.draw: ok
{'task': 'secret_santa.draw', 'args': []}
{"secret_name": "prod/db", "secret_version": 3}
is_secret=False
{'secret_id_count': 4}
author: bob
{'author': 'Ann', 'title': 'x'}
{"authors": ["a", "b"]}
authority=x
authored: 2020
{"co_author": "bob"}
authentication: none
authentication failed
authenticated: True
is_authenticated=True
{'authenticator': 'webauthn'}
auth_type: basic
auth_backend=ldap
{"authMethod": "basic", "auth_provider": "ldap"}
oauth_provider=google
{'oauth_scheme': 'code'}
basic authentication failed
Basic training
Basic English
bearer of bad news
keyboard: us
{'keyboard': 'qwerty', 'keymap': 'us'}
key: value
{'key': 'value'}
{"key": "orders", "value": 5}
{'keys': ['a','b']}
{'primary_key': 5}
{"primaryKey": "id"}
foreign_key=3
cache_key=abc
{'cache_key': 'user:5:profile'}
{'routing_key': 'orders'}
partition_key: 7
sort_key: x
{"sortKey": "date"}
{'idempotency_key': 'o-1'}
{"public_key": "ssh-ed25519 AAAA"}
{'key_id': 'k-1'}
key_id=5
keyspace: x
{"keyword": "shoes", "keywords": ["a"]}
hotkey=ctrl
monkey: 5
{'monkey': 'see', 'donkey': 'do'}
turkey=1
whiskey: 2
donkey=1
jockey: x
{"turnkey": "yes"}
KeyError: 'name'
KeyError: 'token'
KeyError: 'password'
{"missing": ["password", "token"]}
['password', 'token', 'user']
fields = ('user', 'password')
{'fields': ['username', 'password', 'email']}
{"required": ["token"]}
INSERT INTO u (name, password) VALUES (%s, %s)
SELECT token, user FROM t WHERE id = 5
{'column': 'password', 'type': 'str'}
cookie_banner: shown
{'cookie_banner': 'shown', 'cookie_consent': 'all'}
cookies_enabled: true
{"cookie_domain": "x.org", "cookie_path": "/"}
{'recipe': 'cookies', 'minutes': 20}
session expired
session_count=3
session_length: 30
{"session_timeout": 3600, "session_state": "open"}
{'sessions_total': 12}
obsession: 1
assess: 1
{'assessment': 'good', 'possession': 'x'}
{'side': 'left', 'sidecar': 'x'}
sidebar: open
{"residence": "x", "inside": "y"}
{'credit': 100, 'credits': 5}
credit: 100
discredit=1
accredited: yes
{"credited_to": "ann"}
{'sacred': 'x', 'incredible': 'y'}
incredible: 5
{'signature': {'task': 'a.b'}}
{"signature": "add(x, y)"}
{'function_signature': '(a, b) -> c'}
TypeError: signature mismatch: f(a, b)
pin: 5
{'pin': 'left', 'spinning': True}
{'opinion': 'x', 'shipping': 'y'}
basis: 5
{'option': 'x', 'optional': True}
{"adoption": "x", "laptop": "y"}
{'endpoint': 'x', 'connection': 'db'}
{"connection_strategy": "x"}
connection refused: host:6379
{'code': 404}
https://h/cb?code=404&state=done
client: acme
{"client_id": "acme", "clientName": "x"}
user_agent: Mozilla
{'user': 'ann', 'username': 'ann', 'login': 'ann'}
{"email": "ann@example.org", "cc": "bob@example.org"}
ann@example.org
Ann <ann@example.org>, Bob <bob@example.org>
git@github.com:a/b.git
mailto:a@b.c
celery@worker-1.example.org
api: v1
api_version: 2
{'api_url': 'https://api.example.org/v2'}
access_count: 3
{"access_level": "read", "accessible": true}
accessible=1
{'private': True, 'privacy': 'x'}
{"is_private": true, "visibility": "private"}
{'encrypted': 'yes', 'encryption': 'aes'}
redis://localhost:6379/0
rediss://redis.example.org:6380/1?ssl_cert_reqs=required
amqp://rabbit:5672//
mongodb://h1:27017,h2:27017/db
sentinel://h1:26379;sentinel://h2:26379
postgres://db:5432/shop
http://host:8080/path
http://localhost:8080/x@y
http://[::1]:80/a
see http://host:80.
https://example.com/a@b
https://example.com/@ann/posts
see https://example.com/?q=a@b.c
https://host/path/secret/x
https://example.com/password/reset
https://example.com/tokens/5?page=2&sort=name
https://example.com/a?q=token&page=2
https://example.com/?utm_source=mail&key=orders
https://example.com/docs#authorization
https://www.example.org/search?author=bob&keyword=tea
s3://bucket/key/of/object.csv
file:///srv/app/tokens.py
https://hooks.example.org/services/orders
https://discord.com/channels/1/2
C:\path\secret\x
/run/secrets/db_password
{'path': '/run/secrets/db_password'}
{"password_file": "/run/secrets/db_password"}
/etc/ssl/private/key.pem
  File "/srv/app/auth/tokens.py", line 12, in check_token
  File "/srv/app/password.py", line 3, in reset_password↵    raise ValueError(user)
    at checkToken (/srv/app/auth/session.js:10:5)
    if not token:↵      raise PermissionError(user)
    return session.get(Order, 5)
    password: str↵    user: int
def login(user: str, password: str) -> Token:
TypeError: login() missing 1 required positional argument: 'password'
TypeError: login() got an unexpected keyword argument 'token'
AttributeError: 'NoneType' object has no attribute 'token'
ValueError: not enough values to unpack (expected 2, got 1)
<Task: shop.charge[abc] at 0x7f>
{"a": 1, "b": [true, null]}
(42, 'shop.orders.refund', {'order': 1789, 'amount': 19.9})
{'order': 5, 'lines': [{'sku': 'A-1', 'qty': 2}]}
8c1f0a7e-93b2-4d5c-a6e1-f7b0c2d4e681
{'sha': 'da39a3ee5e6b4b0d3255bfef95601890afd80709'}
{"etag": "d41d8cd98f00b204e9800998ecf8427e"}
{'name': 'size', 'value': 'L'}
{'name': 'token_count', 'value': '5'}
{"type": "text", "value": "hello"}
- name: size↵  value: L
a%3Db%26author%3Dbob
12:30:45
2026-01-01T00:00:00Z
desk-top task_id=1 keyed: yes, pass-through: no
sk-learn
risk_live_feed
desk-lamp-with-a-very-long-name-indeed
task-scheduler-worker-number-twenty-one
{'hf': 1, 'npm': 'ok', 'whsec': 2}
npm install express-task-monitor
npm_config_registry=https://registry.npmjs.org/
SG.1
ya29
-----BEGIN CERTIFICATE-----↵MIIB↵-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----↵MIIB↵-----END PUBLIC KEY-----
eyJ
{"label": "Password:", "type": "text"}
{'prompt': 'Token:', 'n': 1}
{"url": "https://x/?token=", "n": 1}
["Enter password:", 5]
('password=', 'x')
print("Your token: ", end=x)
{"text": "your password ", "n": 1}
{"missing": ["password", "token"], "n": 1}
{'eye': 'blue', 'money': '$2 off'}
Asia/Tokyo
ASIAN FOOD
{'timezone': 'Asia/Kolkata'}
WWW-Authenticate: Basic realm="shop"
WWW-Authenticate: Bearer realm="api", error="invalid_request"
Authorization header is missing
Content-Type: application/json
Accept: */*↵Host: h
X-Request-Id: 8c1f0a7e
Retry in 180s: TimeoutError()
ConnectionError('Error 111 connecting to localhost:6379. Connection refused.')
skating: 5
{'status': 'ok', 'passwords_checked_count': 5}
{'jwt_algorithm': 'HS256', 'jwt_expiry': 60}
{"otp_length": 6}
{'adsn': 1}
[[], {}, {'callbacks': None, 'errbacks': None, 'chain': None, 'chord': None}]
<Signature: shop.charge(1)>
shop.charge(1) | mail.receipt()
Select a token to continue, then press enter.
Don't share your password with anyone: it's yours.
`);
