/** Secrets in texts that were escaped, coloured, serialized or encoded on their way. */
import { secretTexts } from './entry.ts';

export const ESCAPED_TEXTS = secretTexts(
  String.raw`
{"\u0070assword": "«»"}
{"pass\u0077ord": "«»", "n": 1}
{"\u0070\u0061\u0073\u0073\u0077\u006f\u0072\u0064": "«»"}
{"api\u005fkey": "«»"}
{"api_ke\u0079": "«»"}
{'\x70assword': '«»'}
{'toke\x6e': '«»', 'n': 1}
{"m": "{\"\\u0070assword\": \"«»\"}"}
{"\u043f\u0430\u0440\u043e\u043b\u044c": "«»"}
{"\u5bc6\u7801": "«»"}
{"contrase\u00f1a": "«»"}
token\u003d«»\u0026x=1
{"url": "https://h/a?token\u003d«»\u0026b=1"}
\u0022password\u0022:\u0022«»\u0022
&quot;password&quot;:&quot;«»&quot;
{&quot;password&quot;:&quot;«»&quot;,&quot;n&quot;:1}
{&quot;password&quot;: &quot;«»&quot;, &quot;n&quot;: 1}
{&#34;api_key&#34;: &#34;«»&#34;}
{&#39;token&#39;: &#39;«»&#39;}
{&#x27;token&#x27;: &#x27;«»&#x27;, &#x27;n&#x27;: 1}
{&apos;token&apos;: &apos;«»&apos;}
&amp;quot;password&amp;quot;:&amp;quot;«»&amp;quot;
<pre>{&quot;db&quot;: {&quot;password&quot;: &quot;«»&quot;}}</pre>
data-config="{&quot;apiKey&quot;:&quot;«»&quot;}"
{&quot;pin_secret&quot;:«7382910465»,&quot;n&quot;:1}
&lt;password&gt;«»&lt;/password&gt;
&lt;ns:Password Type="x"&gt;«»&lt;/ns:Password&gt;
`.concat(
    // An escape character cannot be typed in a raw text.
    String.raw`
^[32mpassword^[0m=^[33m«»^[0m
^[36mpassword^[39m: ^[33m«»^[39m
^[1;32mtoken^[0m: «»
^[1mpwd^[0m=«»
^[2mauth^[0m=«»
level=info ^[36mpassword=^[0m«» ^[36muser=^[0mann
{^[94m"password"^[39;49;00m:^[37m ^[39;49;00m^[33m"«»"^[39;49;00m}
{ ^[32m'password'^[39m: ^[33m'«»'^[39m }
^[31mAuthorization: Bearer «»^[0m
^[31mghp_«»^[0m
^[35mredis://user:«»@host/0^[0m
`.replaceAll('^[', '\u001b['),
    String.raw`
\x1b[32mpassword\x1b[0m=\x1b[33m«»\x1b[0m
\u001b[36mpassword\u001b[39m: \u001b[33m«»\u001b[39m
\033[1mtoken\033[0m=«»
\e[1mpwd\e[0m=«»
<key>password</key><string>«»</string>
<dict>↵⇥<key>Password</key>↵⇥<string>«»</string>↵⇥<key>User</key>↵⇥<string>ann</string>↵</dict>
<key>apiKey</key>↵<data>«»</data>
<key>pin_secret</key> <integer>«7382910465»</integer>
<member><name>password</name><value><string>«»</string></value></member>
<member>↵<name>password</name>↵<value>↵<string>«»</string>↵</value>↵</member>
<member><name>token</name><value>«»</value></member>
<member><name>secret</name><value><base64>«»</base64></value></member>
<entry key="password">«»</entry>
<string name="api_key">«»</string>
<property name="password" type="string" value="«»"/>
<setting name="password" serializeAs="String"><value>«»</value></setting>
a:2:{s:4:"user";s:3:"ann";s:8:"password";s:24:"«»";}
s:8:"password";s:24:"«»";
a:1:{s:7:"api_key";s:26:"a"«»";}
a:1:{s:10:"secret_pin";i:«7382910465»;}
a:1:{s:11:"credentials";a:2:{i:0;s:24:"«»";i:1;s:24:"«»";}}
O:4:"User":2:{s:4:"name";s:3:"ann";s:8:"password";s:24:"«»";}
{"session": "a:1:{s:8:\"password\";s:24:\"«»\";}"}
next=%252Fcb%253Ftoken%253D«»%2526x%253D1
%2522password%2522%253A%2522«»%2522
url=https%253A%252F%252Fh%252Fcb%253Faccess_token%253D«»
next=https%253A%252F%252Fuser%253A«»%2540host%252Fpath
user%255Bpassword%255D=«»&y=2
q=%7B%22password%22%3A%22«»%22%7D
q=%257B%2522password%2522%253A%2522«»%2522%257D
state=%3Fpwd%3D«»
https://h/a?next=%2Flogin%3Fauth%3D«»
`,
  ),
);
