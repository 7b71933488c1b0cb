import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';

const { text: redact, isSecretKey } = createRedactor();

describe('texts', () => {
  it.each([
    ['JSON', '{"user":"ann","password":"x","n":1}', '{"user":"ann","password":"***","n":1}'],
    ['escaped quotes', '{"password":"p\\"q","b":1}', '{"password":"***","b":1}'],
    ['numbers, which become text, so that JSON stays JSON', '{"pwd": 123, "b": 1}', '{"pwd": "***", "b": 1}'],
    ['objects and lists as one', '{"credentials":{"u":"x","p":["y"]},"z":1}', '{"credentials":"***","z":1}'],
    [
      'JSON within JSON',
      '{"m":"{\\"token\\":\\"x\\",\\"u\\":1}"}',
      '{"m":"{\\"token\\":\\"***\\",\\"u\\":1}"}',
    ],
    ['a dict', "{'password': 'x', 'b': 2}", "{'password': '***', 'b': 2}"],
    ['nested dicts and tuples', "([{'a': {'secret': ('x', 'y')}}],)", "([{'a': {'secret': '***'}}],)"],
    ['bytes', "{'b': b'by', 'secret': b'by\\'t', 'x': 1}", "{'b': b'by', 'secret': b'***', 'x': 1}"],
    ['objects of Python', "{'token': UUID('a, b'), 'x': <T a>}", "{'token': '***', 'x': <T a>}"],
    ['keyword arguments', "f(password='x', user='y')", "f(password='***', user='y')"],
    ['keyword arguments with objects', "A(password=SecretStr('*'), a=1)", 'A(password=***, a=1)'],
    ['pairs', "[('Authorization', 'Bearer x'), ('Host', 'h')]", "[('Authorization', '***'), ('Host', 'h')]"],
    ['assignments', "os.environ['SECRET_KEY'] = 'x'", "os.environ['SECRET_KEY'] = '***'"],
    ['queries', 'GET /a?token=abc&b=1', 'GET /a?token=***&b=1'],
    ['forms', 'user[password]=x&y=2', 'user[password]=***&y=2'],
    ['headers', 'Authorization: Bearer x\r\nHost: h', 'Authorization: ***\r\nHost: h'],
    ['cookies', 'Cookie: a=b; c=d\nX: 1', 'Cookie: ***\nX: 1'],
    ['headers within a string', '"Cookie: a=b; c=d\\r\\nHost: h"', '"Cookie: ***\\r\\nHost: h"'],
    ['settings', 'password = correct horse\nuser = x', 'password = ***\nuser = x'],
    [
      'connection strings',
      'AccountName=a;AccountKey=b/c==;Suffix=d',
      'AccountName=a;AccountKey=***;Suffix=d',
    ],
    ['command lines', 'login --password hunter2 -v', 'login --password *** -v'],
    ['arguments of commands', "['--token', 'abc', '-v']", "['--token', '***', '-v']"],
    ['XML', '<password>hunter2</password>', '<password>***</password>'],
    ['messages', 'Error: bad API key: abc def\n  at x', 'Error: bad API key: ***\n  at x'],
    [
      'lines of a traceback',
      '  connect(password="x", db=1)\nE: no',
      '  connect(password="***", db=1)\nE: no',
    ],
  ])('hides secrets in %s', (_, text, shown) => {
    expect(redact(text)).toBe(shown);
  });

  it.each([
    ['user and password', 'redis://u:p@h:6379/0', 'redis://***@h:6379/0'],
    ['a password with signs that should be encoded', 'redis://:p/s?s#x@h:6379/0', 'redis://***@h:6379/0'],
    ['a password with an at sign', 'postgres://u:p@ss@h/db', 'postgres://***@h/db'],
    ['a password with all of them', 'redis://:p@s/s?s#x@h/0', 'redis://***@h/0'],
    ['a token for a user', 'https://ghp@github.com/a', 'https://***@github.com/a'],
    ['lists of URLs', 'amqp://a:b@h//;amqp://c:d@i//', 'amqp://***@h//;amqp://***@i//'],
    ['a URL that was cut before its host', "'redis://user:pas...', ...", "'redis://***', ..."],
  ])('hides %s of a URL', (_, text, shown) => {
    expect(redact(text)).toBe(shown);
  });

  it.each([
    'http://localhost:8080/x@y',
    'sentinel://h1:26379;sentinel://h2:26379',
    'mongodb://h1:27017,h2:27017/db',
    'http://[::1]:80/a',
    'see http://host:80.',
  ])('leaves a URL without credentials as it is: %s', (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ['a JSON Web Token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def'],
    ['an access key of AWS', 'AKIAIOSFODNN7EXAMPLE'],
    ['a token of GitHub', `ghp_${'a1'.repeat(18)}`],
    ['a token of Slack', 'xoxb-123456789012-abcdefABCDEF'],
    ['a key of Stripe', 'sk_live_abcdefghijklmnop1234'],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMII\nabc\n-----END RSA PRIVATE KEY-----'],
  ])('knows %s by its form', (_, secret) => {
    expect(redact(`('a', '${secret}', 1)`)).toBe("('a', '***', 1)");
  });

  it('knows what follows an authentication scheme', () => {
    expect(redact("['Bearer abc.def', 'Basic dXNlcjpw', 'Bearer of news', 'Basic English']")).toBe(
      "['Bearer ***', 'Basic ***', 'Bearer of news', 'Basic English']",
    );
  });

  it.each([
    "{'author': 'Ann', 'tokenizer': 't', 'secretary': 's', 'passport': 'p', 'keyboard': 'k'}",
    "{'primary_key': 5, 'compass': 'n', 'public_key': 'x', 'cache_key': 'y', 'sort_key': 1}",
    "{'token_count': 5, 'max_tokens': 9, 'tokens': 512, 'password_length': 8, 'has_password': 'yes'}",
    "{'password': None, 'token': True, 'secret': ''}",
    '{"session_count": 3, "cookie_domain": "x.org", "auth_method": "basic", "secret_name": "a/b"}',
    "'desk-top task_id=1 keyed: yes, pass-through: no, passing: 3'",
  ])('leaves what is no secret as it is: %s', (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ['a string', "{'password': 'abcdef", "{'password': '***"],
    ['a string that Celery cut', "{'password': 'abc...', ...}", "{'password': '***', ...}"],
    ['brackets', '{"credentials": {"user": "x", "pa', '{"credentials": "***"'],
    ['a token', '["eyJhb', '["***'],
    ['an access key', 'AKIAIO', '***'],
    ['a URL', 'redis://user', 'redis://***'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nabc', '***'],
  ])('hides what is left of a secret where the text breaks off within %s', (_, text, shown) => {
    expect(redact(text, 'args', true)).toBe(shown);
  });

  it('hides at least what one reading of ambiguous quotes takes for the secret', () => {
    // Celery does not escape backslashes: the quote may close the first value or belong to it.
    expect(redact("{'password': 'x\\', 'token': 'y'}")).not.toMatch(/[xy]/);
    expect(redact(`['{"token":["\\\\"]x","y"]}', 7]`)).not.toMatch(/[xy]/);
  });
});

/** Names by white space. */
const namesOf = (text: string): string[] => text.trim().split(/\s+/);

describe('keys', () => {
  const secret = namesOf(`
    password PASSWORD2 db_password dbPassword PGPASSWORD passwd pwd secret client_secret token
    csrfmiddlewaretoken X-Auth-Token access_token api_key apikey X-API-Key accessKeyId
    AWS_SECRET_ACCESS_KEY private_key_pem authorization Proxy-Authorization set-cookie sessionid
    session_id credentials bearer dsn passphrase connection_string password_reset_url password_hash
  `);
  it.each(secret)('%s names a secret', (key) => {
    expect(isSecretKey(key)).toBe(true);
  });

  const harmless = namesOf(`
    author authority oauth_provider secretary tokenizer token_type expires_token_at passport
    passwordless bypass_rate key monkey primaryKey foreign_key keyboard session_count is_secret
    prompt_tokens private_key_path __proto__ constructor
  `);
  it.each([...harmless, ''])('%s names none', (key) => {
    expect(isSecretKey(key)).toBe(false);
  });
});
