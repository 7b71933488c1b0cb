/** Names and values that stand apart: members between them, another line, a call around them. */
import { secretTexts } from './entry.ts';

export const LAYOUT_TEXTS = secretTexts(String.raw`
{"Name": "DB_PASSWORD", "Type": "String", "Value": "«»"}
{"name":"password","type":"s","secure":true,"value":"«»"}
[{"Name":"api_key","Type":"SecureString","Value":"«»"},{"Name":"size","Value":"L"}]
{"key": "api_token", "scope": "all", "value": "«»", "n": 1}
{'name': 'secret', 'kind': 'x', 'value': '«»'}
{'name': 'password', 'tags': [], 'value': b'«»'}
{"name": "password", "value": {"current": "«»"}}
{"name": "Authorization", "enabled": 1, "value": "Bearer «»"}
- name: DB_PASSWORD↵  type: string↵  value: «»
- name: API_TOKEN↵  required: yes↵  value: "«»"↵- name: SIZE↵  value: L
<input name="password" type="text" class="x" value="«»">
<add key="ApiKey" locked="x" value="«»" />
<property name="password"↵  type="x"↵  value="«»"/>
[Parameter(name='token', type='x', value='«»')]
password:↵«»
password:↵  «»↵user:↵  ann
Password:↵⇥«»
password =↵  «»
PASSWORD=↵«»
api_key:↵    "«»"
secret:↵  '«»'
Your new password:↵↵«»
password:\n«»\n
passphrase:↵  «»
PASSWORD=$'«»'
export PASSWORD=$'a\'«»'
PASSWORD=$"«»"
TOKEN=$'«»' run
password = @"«»";
IDENTIFIED BY PASSWORD N'«»'
SET @password = N'«»'
PASSWORD E'«»'
setattr(self, 'password', '«»')
setattr(settings, "API_KEY", "«»")
object.__setattr__(self, 'token', '«»')
os.environ.setdefault('DB_PASSWORD', '«»')
os.putenv("SECRET_KEY", "«»")
os.environ.update(dict(A='x'), password='«»')
config.set('db', 'password', '«»')
redis.hset('user:5', 'password', '«»')
client.set("api_token", "«»")
headers.append('Authorization', 'Bearer «»')
headers.set("X-Api-Key", "«»")
monkeypatch.setenv('API_TOKEN', '«»')
System.setProperty("db.password", "«»");
localStorage.setItem('auth_token', '«»')
builder.addHeader("Authorization", "Bearer «»")
define("DB_PASSWORD", "«»");
`);
