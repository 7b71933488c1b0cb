/** Settings: environments, YAML, INI, TOML, XML, connection strings, forms, command lines, SQL. */
import { secretTexts } from './entry.ts';

export const SETTING_TEXTS = secretTexts(String.raw`
AWS_SECRET_ACCESS_KEY=«»
export AWS_SECRET_ACCESS_KEY="«»"
set DB_PASSWORD=«»
HOME=/root↵DB_PASSWORD=«»↵PATH=/bin
HOME=/root DB_PASSWORD=«» PATH=/bin
DB_PASSWORD='«»'
DB_PASSWORD: «»↵USER: bob
SENTRY_DSN=https://«»@sentry.io/1
SENTRY_DSN=«»
PGPASSWORD=«» psql -h db
MYSQL_PWD=«» mysqldump shop
REDIS_PASSWORD=ab,«»
password=ab)«»
password=«»;user=x
password = correct horse «»↵user = x
password=****«»
[db]↵user = app↵password = «»↵
db.password=«»
spring.datasource.password=«»
db.password: «»
password: «»
password: "«»"
password: '«»'
password: >-↵  «»↵user: ann
password: |↵  «»↵user: ann
db:↵  user: app↵  password: «»↵  port: 5432
tokens:↵  - «»↵  - «»↵user: ann
tokens: [«», «»]
secret: !vault |↵  $ANSIBLE_VAULT;1.1;AES256↵  «»↵user: ann
password: !!str «»
password: &pw «»
- name: DB_PASSWORD↵  value: «»
- name: API_TOKEN↵  value: "«»"
data:↵  password: «»
passphrase: correct horse «»
password => «»
:password => "«»"
password := "«»"
password ?= «»
$password = '«»';
define('DB_PASSWORD', '«»');
const apiKey = "«»";
let token: string = '«»';
process.env.API_TOKEN = '«»';
api_token = "«»" # TOML
database.password = "«»"
<password>«»</password>
<wsse:Password Type="PasswordText">«»</wsse:Password>
<password type="x">«»</password>
<add key="ApiKey" value="«»" />
<property name="password" value="«»"/>
<input type="password" name="password" value="«»">
<user password="«»" name="ann"/>
<Password><![CDATA[«»]]></Password>
Server=db;Database=shop;User Id=sa;Password=«»;
Server=db;Uid=sa;Pwd=«»;Encrypt=yes
Data Source=db;User ID=sa;Password="«»;x";
DRIVER={ODBC};SERVER=h;UID=u;PWD={«»};
DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«»==;EndpointSuffix=x
Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=«»=
BlobEndpoint=https://x/;SharedAccessSignature=sv=1&sig=«»
InstrumentationKey=x;ApiKey=«»
host=db user=app password=«» dbname=shop
host=db user=app password='«» x' dbname=shop
dsn="host=db password=«»"
user=ann&password=«»&x=1
client_secret=«»&grant_type=client_credentials
grant_type=refresh_token&refresh_token=«»
grant_type=password&username=ann&password=«»
user[password]=«»&y=2
user%5Bpassword%5D=«»&y=2
password%5B%5D=«»
tokens[]=«»
Content-Disposition: form-data; name="password"\r\n\r\n«»\r\n--x
Content-Disposition: form-data; name="password"↵↵«»↵--x
mysql --password «» -v
mysql --password=«» -v
login --api-key="«»"
login --token '«»'
['--password', '«»']
['mysql', '--password=«»', 'shop']
("--client-secret", "«»")
docker run -e DB_PASSWORD=«» image
helm install --set db.password=«» x
java -Ddb.password=«» -jar x
IDENTIFIED BY PASSWORD '«»'
ALTER USER app WITH PASSWORD '«»'
CREATE ROLE app LOGIN ENCRYPTED PASSWORD '«»' VALID UNTIL 'x'
INSERT INTO t SET password='«»', name='x'
UPDATE users SET password = '«»' WHERE id = 1
API key: «»
Secret Access Key: «»
level=info msg="login" password=«» user=ann
level=info msg="login" token="«»" user=ann
ts=1 caller=x token=«»
`);
