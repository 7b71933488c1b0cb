/** Addresses, paths, messages and code that look a little like secrets, and values of every day. */
import { harmlessTexts } from './entry.ts';

export const HARMLESS_VALUES = harmlessTexts(String.raw`
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
