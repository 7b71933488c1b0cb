/** What resembles the forms of secrets that hide in other notations, and is none. */
import { harmlessTexts } from './entry.ts';

export const HARMLESS_LOOKALIKES = harmlessTexts(String.raw`
keyboard_layout: us
{'keyboards': 5, 'monkeys': ['a']}
{"sort_keys": true, "indent": 2}
{'primary_keys': ['id'], 'foreign_keys': []}
{"cacheKey": "orders:5", "cacheKeys": 12}
{"publicKey": "MIIBIjANBgkq"}
{'s3_key': 'in/2026/orders.csv'}
{"object_key": "a/b/c.parquet", "bucket": "shop"}
{'dedup_key': 'a-1', 'message_key': 'b-2'}
{"translation_key": "cart.title"}
{'lookup_key': 'x', 'hash_key': 'id', 'range_key': 'at'}
{"key_count": 3, "keys_total": 8}
{'hotkeys': 'ctrl+k'}
PWD=/srv/app
PWD=/home/ann/work
OLDPWD=/root
{'PWD': '/srv/app', 'HOME': '/root'}
pwd: /usr/src/app
{"cwd": "/srv/app", "pwd": "/srv/app"}
def pw_round(x): return x
{'power': 5, 'pwm': 12}
TypeError: charge() got an unexpected keyword argument 'order'↵signature: (order_id, amount=0)
signature = inspect.signature(f)
signature: shop.tasks.charge(order_id, amount=0)
{"signature": "shop.tasks.charge"}
{'signature': 'charge_customer_order'}
signature=(a, b)
{'signature': None}
signatures: 3
{'design': 'x', 'signal': 'SIGTERM', 'assigned': 'ann'}
commit da39a3ee5e6b4b0d3255bfef95601890afd80709
{'commit': '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12'}
{"id": "8c1f0a7e-93b2-4d5c-a6e1-f7b0c2d4e681", "parent_id": "0c6b"}
{'checksum': 'sha256:e3b0c44298fc1c149afbf4c8996fb924'}
{"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg=="}
{"card": "visa", "cards": 3, "cardinality": 5}
{'scorecard': 'a', 'postcard_id': 5, 'discard': True}
{'order_number': 5, 'phone_number': '555'}
{"assn": 1, "lesson": "x", "mission": "y"}
{'recovery': 'auto', 'recovery_mode': 'full', 'recovery_point': 5}
{"backup": "daily", "backup_path": "/b", "backups": 3}
{"code": "A1", "codes": ["a", "b"], "country_code": "DE"}
{'promo_codes': ['SPRING']}
{'parole': 'x', 'parolee': 'y'}
{"passe_partout": 1}
{'sandal': 1, 'thousand': 2, 'sandbox': 'on'}
{"enclave": "x", "autoclave": "y", "conclave": 1}
{'minimal': 1, 'mimac': 2}
{'sirup': 1, 'hassle': 2}
{"密度": 5, "码头": "x", "号码": 5}
{'номер': 5, 'имя': 'Анна'}
{"名前": "x", "番号": 7}
{'이름': '안나', '번호': 5}
{"الاسم": "x", "العدد": 5}
{'नाम': 'x'}
имя: Анна
&quot;name&quot;:&quot;ann&quot;
{&quot;author&quot;:&quot;ann&quot;,&quot;n&quot;:1}
&lt;b&gt;password&lt;/b&gt;
a &amp; b: token & key
<h1>Password</h1>
<label>Password</label><input>
<key>size</key><string>L</string>
<name>size</name><value>5</value>
<th>token</th><td>count</td>
s:4:"name";s:3:"ann";
a:1:{s:3:"key";s:5:"value";}
next=%252Fcb%253Fpage%253D2
{"Name":"size","Type":"String","Value":"L"}
{"name": "password"}, {"value": 5}
{"name":"password","type":"text"}
- name: size↵  type: int↵  value: 5
{'fields': [{'name': 'password', 'required': True}], 'value': 3}
setattr(self, 'name', 'ann')
setattr(self, 'size', 5)
getattr(self, 'password', None)
config.set('db', 'host', 'h')
print('password', 'ok', 5)
Enter your password:↵
Password:↵Enter a value to continue.
password:↵user: ann
password:↵  min: 8↵  max: 64
if password:↵    validate(password)
if token:↵    return
while not session:↵    sleep(1)
else password:↵  x
token:↵  type: string
    for key in keys:↵        print(key)
price: $5$ or $6$
{'cost': '$1$'}
\u0041uthor: bob
{"\u0061uthor": "Ann"}
{'caf\xe9': 'x'}
C:\temp\tokens\x
\tauthor: bob
figd: 5
lin_api
sq0
vercel_env=production
vercel_region: fra1
dp.ptx
ntn: x
secret_santa_draw_for_the_whole_team_of_the_office
pbkdf2:sha256
scrypt: 5
bcrypt$
argon2
https://example.org/webhooks/orders/new
https://example.org/api/v2/webhooks/
https://discord.com/api/v10/channels/123456789012345678/messages
jdbc:oracle:thin:@//db:1521/shop
jdbc:oracle:thin:@h:1521:sid
jdbc:postgresql://db:5432/shop
-----END CERTIFICATE-----
MIIB↵-----END PUBLIC KEY-----
{"notion": "x", "linear": true, "figma": "file"}
api.keys.example.org
see api. Key points: none
the key: value store
{'access': 'read', 'accessed_at': '2026-01-01'}
`)
  // An escape character cannot be typed in a raw text.
  .concat([
    '\u001b[32mauthor\u001b[0m=ann',
    '\u001b[1mstatus\u001b[0m: ok',
    'log \u001b[31merror\u001b[0m: none',
  ]);
