/** JSON: plain, nested, and written into strings of JSON again and again. */
import { secretTexts } from './entry.ts';

export const JSON_TEXTS = secretTexts(String.raw`
{"password": "«»"}
{"user":"ann","password":"«»","n":1}
{"a": {"b": {"c": {"passwd": "«»"}}}}
[[[{"pwd": "«»"}]]]
{"password": "a\"«»"}
{"password": "back\\slash\\«»"}
{"password": "ends in a backslash «»\\", "user": "ann"}
{"password": "line\nbreak «»"}
{"password": "\u0022«»", "n": 2}
{"password": "zażółć «»"}
{"secret_phrase": "«correct horse battery staple»"}
{"password": "a, b: {c} «»", "x": 1}
{"password": "}]),;«»"}
{"password": "'«»'"}
{"password": «94817263540981», "n": 1}
{"pin_code_secret": «7382910465», "n": 1}
{"password": ["«»", "«»"]}
{"password": {"current": "«»", "next": "«»"}}
{"tokens": {"ann": "«»", "bob": "«»"}}
{"secret": {"a": ["«»"]}}
{"credentials":{"user":"x","value":["«»"]},"z":1}
"{\"password\": \"«»\"}"
"{\\\"password\\\": \\\"«»\\\"}"
"{\\\\\\\"password\\\\\\\": \\\\\\\"«»\\\\\\\"}"
{"m":"{\"token\":\"«»\",\"u\":1}"}
{"m":"{\"m\":\"{\\\"token\\\":\\\"«»\\\",\\\"u\\\":1}\"}"}
{"m":"{\"password\":\"a\\\"«»\",\"u\":1}"}
{"body": "user=ann&password=«»&x=1"}
{"body": "password: «»\nuser: ann"}
{"cmd": "login --password «»"}
{"headers": {"authorization": ["Bearer «»"]}}
{"headers": [["authorization", "Bearer «»"], ["host", "h"]]}
{"headers": [{"name": "authorization", "value": "Token «»"}]}
{"rawHeaders": ["Host", "h", "Authorization", "Bearer «»"]}
{"rawHeaders": ["Host", "h", "Cookie", "sid=«»; theme=dark"]}
{"name": "DB_PASSWORD", "value": "«»"}
{"key": "api_token", "value": "«»"}
[{"Name":"secret_key","Value":"«»"}]
{"env": {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "«»"}}
{"env": ["PATH=/bin", "AWS_SECRET_ACCESS_KEY=«»"]}
"password"↵:↵"«»"
{↵  "user": "ann",↵  "password": "«»",↵  "n": 1↵}
{↵  "tokens": [↵    "«»",↵    "«»"↵  ]↵}
{"database": {"url": "postgres://app:«»@db:5432/shop"}}
{"a":1}{"token":"«»"}
{"event":"login","data":{"session":{"id":"«»"}}}
{password: "«»", user: "ann"}
{ password: '«»', user: 'ann' }
{ user: 'ann', auth: { user: 'x', pass: '«»' } }
{ 'x-api-key': '«»' }
Map(2) { 'user' => 'ann', 'token' => '«»' }
{ token: «83619472650183n» }
{ headers: { Authorization: 'Basic «»' } }
Config { apiKey: '«»', retries: 3 }
`);
