/** Names that look a little like those of secrets. */
import { harmlessTexts } from './entry.ts';

export const HARMLESS_NAMES = harmlessTexts(`
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
`);
