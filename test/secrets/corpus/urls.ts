/** URLs that carry credentials in themselves, in their query, their path or their fragment. */
import { secretTexts } from './entry.ts';

export const URL_TEXTS = secretTexts(String.raw`
redis://user:«»@host:6379/0
redis://:«»@host:6379/0
rediss://default:«»@host:6380
redis+sentinel://:«»@h1:26379,h2:26379/mymaster/0
sentinel://:«»@h1:26379;sentinel://:«»@h2:26379
amqp://guest:«»@rabbit:5672//
amqp://a:b@h1;amqp://c:«»@h2//
amqps://user:«»@b-1234.mq.eu-west-1.amazonaws.com:5671
pyamqp://user:«»@host//
mongodb://u:«»@h1:27017,h2:27017/db?replicaSet=rs
mongodb+srv://u:«»@cluster0.abcde.mongodb.net/db?retryWrites=true
postgres://app:«»@db:5432/shop
postgresql+psycopg2://app:«»@db/shop
postgresql://app:«»@/shop?host=/var/run/postgresql
postgresql://db/shop?user=app&password=«»
jdbc:postgresql://db:5432/shop?user=app&password=«»&ssl=true
jdbc:mysql://app:«»@db:3306/shop
mysql+pymysql://app:«»@db/shop?charset=utf8mb4
mssql+pyodbc://sa:«»@dsn
oracle://scott:«»@host:1521/?service_name=x
db+postgresql://app:«»@db/shop
sqla+mysql://app:«»@db/shop
sqs://AKID:«»@
cassandra://u:«»@c1,c2/ks
ldap://cn=admin,dc=x:«»@ldap:389
smtp://mailer%40x.org:«»@smtp:587
smtps://mailer:«»@smtp:465
imap://u:«»@imap
ftp://u:«»@files/a
sftp://u:«»@files/a
ssh://git:«»@host/repo
git+https://oauth2:«»@gitlab.com/a/b.git
https://«»@github.com/a/b.git
https://x-access-token:«»@github.com/a/b.git
https://user:«»@host/path?x=1#y
http://user:«»@[::1]:8080/
http://us%65r:«»@host/
redis://:ab/«»@host
redis://:a#«»@host/0
redis://:a?«»@host/0
redis://:p@«»@host/0
redis://:p%40«»@host/0
redis://u:a:b:«»@host/0
postgres://u:p;«»@host/db
nats://«»@nats:4222
kafka://u:«»@k1:9092,k2:9092
wss://u:«»@host/socket
https://«0f3a8b7c6d5e4f3a2b1c0d9e8f7a6b5c»@o12.ingest.sentry.io/34
Cannot connect to redis://user:«»@host:6379/0: Connection refused
Error 111 connecting to amqp://user:«»@rabbit:5672//.
(see "https://user:«»@host/a", 'https://b')
['redis://:«»@a/0', 'redis://:«»@b/0']
redis://:«»@a/0,redis://:«»@b/0
broker=redis://:«»@a/0 backend=redis://:«»@b/1
broker_url: redis://:«»@a/0
{"url": "https:\/\/user:«»@host\/path"}
https%3A%2F%2Fuser%3A«»%40host%2Fpath
next=https%3A%2F%2Fuser%3A«»%40host%2Fpath&x=1
GET /cb?token=«»&x=1
https://h/cb?code=x#access_token=«»&token_type=bearer
https://h/a?access_token=«»
https://h/a?api_key=«»&b=1
https://h/a?x=1&apikey=«»
https://h/reset?email=a%40b.c&reset_token=«»
https://h/a?auth=«»&b=1
https://h/a?jwt=«»
https://h/a?client_secret=«»
https://h/a?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=60&X-Amz-Signature=«»
https://b.s3.amazonaws.com/k?X-Amz-Credential=«»%2F20260101%2Fus-east-1&X-Amz-Date=1
https://b.s3.amazonaws.com/k?X-Amz-Security-Token=«»&X-Amz-Date=1
https://b.s3.amazonaws.com/k?AWSAccessKeyId=«»&Expires=1
https://b.s3.amazonaws.com/k?Expires=1&Signature=«»
https://storage.googleapis.com/b/k?X-Goog-Expires=1&X-Goog-Signature=«»
https://a.blob.core.windows.net/c/b?sv=2026-01-01&se=2026-01-02&sr=b&sp=r&sig=«»
https://a.blob.core.windows.net/c/b?sig=«»%3D&sv=2026-01-01
https://d111.cloudfront.net/a?Policy=x&Signature=«»&Key-Pair-Id=K1
https://hooks.slack.com/services/T00000000/B00000000/«»
https://discord.com/api/webhooks/123456789012345678/«»
https://api.telegram.org/bot123456789:«»/sendMessage
https://outlook.webhook.office.com/webhookb2/«d27e5b94-6f08-4ac1-b3d9-50e7a1c8f462@a»/IncomingWebhook/x
next=%2Fcb%3Ftoken%3D«»%26x%3D1
%22password%22%3A%22«»%22
url=https%3A%2F%2Fh%2Fcb%3Faccess_token%3D«»
otpauth://totp/Shop:ann?secret=«»&issuer=Shop
`);
