/** Tracebacks, stacks, messages of errors and lines of logs. */
import { secretTexts } from './entry.ts';

export const TRACEBACK_TEXTS = secretTexts(String.raw`
Traceback (most recent call last):↵  File "/a/b.py", line 3, in f↵    connect(host="db", password="«»")↵OperationalError: no
Traceback (most recent call last):↵  File "/a.py", line 1, in <module>↵    password = '«»'↵NameError: x
Traceback (most recent call last):↵  File "/a.py", line 9, in g↵    requests.get(u, headers={"Authorization": "Bearer «»"})↵ValueError: x
Traceback (most recent call last):↵  File "/a.py", line 9, in g↵    r = redis.from_url("redis://:«»@h/0")↵               ^^^^^^^^↵redis.exceptions.ConnectionError: Error 111
redis.exceptions.ConnectionError: Error connecting to redis://:«»@h:6379/0
sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to "postgresql://app:«»@db/shop" failed
sqlalchemy.exc.IntegrityError: duplicate↵[SQL: INSERT INTO u (name, x) VALUES (%(name)s, %(password)s)]↵[parameters: {'name': 'ann', 'password': '«»'}]
kombu.exceptions.OperationalError: [Errno 111] amqp://guest:«»@rabbit:5672//
requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://h/a?api_key=«»
urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='h', port=443): Max retries exceeded with url: /a?token=«» (Caused by x)
subprocess.CalledProcessError: Command '['mysql', '--password=«»', 'shop']' returned non-zero exit status 1.
subprocess.CalledProcessError: Command 'mysql --password=«» shop' returned non-zero exit status 1.
subprocess.CalledProcessError: Command '['pg_dump', '--dbname', 'postgres://a:«»@db/x']' returned non-zero exit status 1.
pydantic.ValidationError: 1 validation error↵password↵  too short [type=x, input_value='«»', input_type=str]
pydantic.ValidationError: 1 validation error for Login↵user↵  Field required [type=missing, input_value={'password': '«»'}, input_type=dict]
botocore.exceptions.ClientError: (InvalidToken) credentials: {'AccessKeyId': 'AK', 'SecretAccessKey': '«»'}
Locals:↵  user = 'ann'↵  password = '«»'↵  n = 3
│ password = '«»' │↵│ user = 'ann' │
╭─ locals ─╮↵│ api_key = '«»' │↵╰──────────╯
  password: «»↵  user: ann
Error: connect failed: redis://user:«»@h:6379↵    at f (/a.js:1:2)↵    at g (/b.js:3:4)
AxiosError: Request failed { config: { headers: { Authorization: 'Bearer «»' } } }↵    at f (/a.js:1:2)
Error: Command failed: curl -H 'Authorization: Bearer «»' https://x↵    at f (/a.js:1:2)
TypeError: Cannot read x of {"token":"«»"}
ValueError("bad password: '«»'")
ValueError('login(user=\'ann\', password=\'«»\') failed')
RuntimeError: {'headers': {'cookie': 'sid=«»'}}
ValueError: invalid literal for int() with base 10: 'token=«»'
KeyError: 'token=«»'
Retry in 180s: OperationalError('redis://:«»@h/0')
Reject(ValueError("redis://:«»@h/0"), requeue=False)
[2026-01-01 00:00:00,000: ERROR/MainProcess] login(password='«»') failed
2026-01-01 00:00:00 "POST /login?password=«» HTTP/1.1" 401
10.0.0.1 - ann [01/Jan/2026] "GET /a?token=«» HTTP/1.1" 200 5 "https://r/?access_token=«»"
goroutine 1: main.connect("postgres://a:«»@db/x")
Caused by: java.sql.SQLException: jdbc:mysql://h/x?user=a&password=«»
psycopg2.OperationalError: invalid dsn: "host=db password=«» dbname=x"
AuthenticationError: invalid password '«»'
ERROR: wrong password "«»" for ann
Using api_key='«»', timeout=5
Loaded settings SECRET_KEY='«»' DEBUG=True
`);
