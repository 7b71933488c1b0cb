import { expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';

const { text: redact } = createRedactor();
const S = 'QXQXQXQX';

/** Texts that hold {@link S} as a secret, in the notations that tasks, tracebacks and logs come in. */
const SECRETS = [
  // JSON
  `{"password": "${S}"}`,
  `{"a": {"passwd": "${S}"}}`,
  `{"password": "a\\"${S}"}`,
  `"{\\"password\\": \\"${S}\\"}"`,
  `"{\\\\\\"password\\\\\\": \\\\\\"${S}\\\\\\"}"`,
  `"password"\n:\n"${S}"`,
  `{"secret": {"a": ["${S}"]}}`,
  `{"name": "DB_PASSWORD", "value": "${S}"}`,
  `{"headers": {"authorization": ["Bearer ${S}"]}}`,
  // Python
  `(1, {'db': {'passwd': '${S}', 'x': 1}})`,
  `{'password': b'${S}'}`,
  `{'password': 'a\\'${S}'}`,
  `{'password': "it's ${S}"}`,
  `'{"password": "${S}"}'`,
  `{'a': "{'password': '${S}'}"}`,
  `{'body': '{"password": "x\\\\"${S}"}'}`,
  `{'tokens': ['${S}', 'b']}`,
  `{'credentials': {'user': 'a', 'x': '${S}'}}`,
  `{'password': <Secret ${S}>}`,
  `secret=Secret('${S}')`,
  `login(user='bob', password='${S}')`,
  `OrderedDict([('password', '${S}')])`,
  `[(b'authorization', b'Bearer ${S}')]`,
  `[{'name': 'password', 'value': '${S}'}]`,
  `{'auth': ('user', '${S}')}`,
  `{'token': 'a', 'token': '${S}'}`,
  `config['password'] = '${S}'`,
  `os.environ["API_TOKEN"] = "${S}"`,
  `password: str = '${S}'`,
  `if password == '${S}':`,
  `password = """${S}"""`,
  `User(password=${S}, x=1)`,
  // Keys
  `{'api_key': '${S}'}`,
  `{'api-key': '${S}'}`,
  `{'APIKey': '${S}'}`,
  `{'access_key': '${S}'}`,
  `{'aws_secret_access_key': '${S}'}`,
  `{'private_key': '${S}'}`,
  `{'session_id': '${S}'}`,
  `{'JSESSIONID': '${S}'}`,
  `{'csrf_token': '${S}'}`,
  `{'db_pass': '${S}'}`,
  `{'userPwd': '${S}'}`,
  `SENTRY_DSN=${S}`,
  `{'client_secret': '${S}'}`,
  `{'bearer': '${S}'}`,
  `{'new_password_2': '${S}'}`,
  `{'passwordConfirmation': '${S}'}`,
  `{'SECRET_KEY': '${S}'}`,
  `{'signing_key': '${S}'}`,
  `{'x-amz-security-token': '${S}'}`,
  `{'refreshToken': '${S}'}`,
  `{'connection_string': 'Server=x;Password=${S}'}`,
  // Headers, queries, command lines, settings
  `Authorization: Bearer ${S}`,
  `Proxy-Authorization: Basic ${S}`,
  `Cookie: theme=dark; sid=${S}`,
  `Set-Cookie: a=${S}; Path=/`,
  `X-Api-Key: ${S}`,
  `curl -H 'Authorization: Bearer ${S}' https://x`,
  `?token=${S}&x=1`,
  `https://h/cb?code=x#access_token=${S}`,
  `client_secret=${S}&grant_type=x`,
  `next=%2Fcb%3Ftoken%3D${S}%26x%3D1`,
  `%22password%22%3A%22${S}%22`,
  `mysql --password ${S} -v`,
  `['--password', '${S}']`,
  `DB_PASSWORD: ${S}\nUSER: bob`,
  `password=ab,${S}`,
  `password=ab)${S}`,
  `passphrase: correct horse ${S}`,
  `AccountKey=${S}==;x=y`,
  `<password>${S}</password>`,
  `password=****${S}`,
  // URLs and what shows by its form
  `redis://user:${S}@host:6379/0`,
  `amqp://a:b@h1;amqp://c:${S}@h2//`,
  `mongodb+srv://u:${S}@h1,h2/db?x=1`,
  `redis://:ab/${S}@host`,
  `redis://:a#${S}@host/0`,
  `https://${S}@github.com/x`,
  `Bearer ${S}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${S}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${S}\n-----END RSA PRIVATE KEY-----`,
  `ghp_abcdefghijklmnopqrstuvwxyz${S}`,
  // Cut by the engine
  `{'password': '${S}`,
  `{"password": "${S}`,
  `{'password': '${S}...', ...}`,
  `password=${S}...`,
  `redis://user:${S}...`,
];

/** Texts that look a little like secrets and are none. */
const HARMLESS = [
  ...['token_count: 5', 'author: bob', 'tokenizer=gpt2', 'secretary: Ann', 'passport=A1', 'keyboard: us'],
  ...["{'primary_key': 5}", 'compass: north', 'max_tokens=100', "{'max_tokens': 100, 'user': 'x'}"],
  ...[
    'passed: 5',
    'bypass=True',
    'passenger: 5',
    'tests passed: 12, failed: 0',
    'authority=x',
    'authored: 2020',
  ],
  ...["{'authors': ['a']}", 'monkey: 5', 'turkey=1', 'key: value', "{'key': 'value'}", 'cache_key=abc'],
  ...["{'routing_key': 'orders'}", 'partition_key: 7', 'foreign_key=3', 'sort_key: x', "{'keys': ['a','b']}"],
  ...['keyspace: x', 'hotkey=ctrl', 'whiskey: 2', 'donkey=1', 'jockey: x', "{'idempotency_key': 'o-1'}"],
  ...['redis://localhost:6379/0', 'http://host:8080/path', 'https://example.com/a@b', 'mailto:a@b.c'],
  ...['see https://example.com/?q=a@b.c', 'https://host/path/secret/x', 'C:\\path\\secret\\x', '12:30:45'],
  ...[
    'bearer of bad news',
    'basic authentication failed',
    'Basic training',
    'session expired',
    'token expired',
  ],
  ...['The token expired at 12:00', 'password reset requested for bob', 'reset_password(user_id=5)'],
  ...["('password-reset', 5)", 'task tasks.send_password_reset received', 'secret_santa.draw: ok'],
  ...[
    'prompt_tokens=5, completion_tokens=7',
    'cookies_enabled: true',
    "{'password': None}",
    '{"password": null}',
  ],
  ...['has_password: true', 'pin: 5', 'basis: 5', 'credit: 100', 'discredit=1', 'accredited: yes'],
  ...[
    'session_count=3',
    'session_length: 30',
    'auth_type: basic',
    'auth_backend=ldap',
    'oauth_provider=google',
  ],
  ...['token_type=bearer', 'expires_in=3600', 'assess: 1', 'obsession: 1', 'compassion: 5', 'encompass: x'],
  ...['passive=True', 'pass_count: 3', 'passing: yes', "{'signature': {'task': 'a.b'}}", 'tokenize(text)'],
  ...['detokenized: x', 'broken: 5', 'authenticated: True', 'is_authenticated=True', 'authentication: none'],
  ...['{"a": 1, "b": [true, null]}', '<Task: shop.charge[abc] at 0x7f>', "KeyError: 'name'", 'skating: 5'],
  ...['ValueError: password too short', 'access_count: 3', 'accessible=1', 'passes=3', 'secretion: 1'],
  ...['password_length: 12', 'key_id=5', 'api_version: 2', 'api: v1', 'client: acme', 'user_agent: Mozilla'],
  ...["{'name': 'size', 'value': 'L'}", "{'name': 'token_count', 'value': '5'}", 'a%3Db%26author%3Dbob'],
];

it.each(SECRETS)('hides the secret of %s', (text) => {
  const shown = redact(text);
  expect(shown).not.toContain('QX');
  expect(shown).toContain('***');
  expect(redact(shown)).toBe(shown);
});

it.each(SECRETS)('hides it wherever the text breaks off: %s', (text) => {
  for (let end = 0; end < text.length; end++) {
    const shown = redact(text.slice(0, end), 'args', true);
    // Too little to tell a token by its form: its prefix alone.
    if (!text.startsWith('ghp_')) expect(shown).not.toContain('QX');
  }
});

it.each(HARMLESS)('leaves %s as it is', (text) => {
  expect(redact(text)).toBe(text);
  expect(redact(`(1, ${text})`)).toBe(`(1, ${text})`);
});
