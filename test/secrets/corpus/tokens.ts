/** What shows by its form that it is a secret, wherever it stands. */
import { secretTexts } from './entry.ts';

export const TOKEN_TEXTS = secretTexts(String.raw`
('a', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.«»', 1)
id_jwt=eyJhbGciOiJIUzI1NiJ9.«».«»
{"assertion": "eyJhbGciOiJIUzI1NiJ9.«».«»"}
eyJhbGciOiJSU0EtT0FFUCJ9.«».«».«».«»
deploy with ghp_«» now
gho_«»
ghs_«»
github_pat_11ABCDEFG0«»_«»
glpat-«»
gldt-«»
glrt-«»
xoxb-123456789012-«»
xapp-1-A0-«»
sk_live_«»
rk_live_«»
sk_test_«»
sk-proj-«»
sk-ant-api03-«»
whsec_«»
AIza«»
ya29.«»
GOCSPX-«»
npm_«»
pypi-AgEIcHlwaS5vcmc«»
hf_«»
hvs.«»
dop_v1_«»
shpat_«»
dckr_pat_«»
SG.«».«»
ATATT3xFfGF0«»
AGE-SECRET-KEY-1«»
AKIA«QZ7WN3KD5XJT2VPM»
ASIA«QZ7WN3KD5XJT2VPM»
["AKIA«QZ7WN3KD5XJT2VPM»", "eu-west-1"]
-----BEGIN RSA PRIVATE KEY-----↵«»↵«»↵-----END RSA PRIVATE KEY-----
-----BEGIN PRIVATE KEY-----↵«»↵-----END PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY-----\n«»\n«»\n-----END OPENSSH PRIVATE KEY-----\n
{'pem': '-----BEGIN EC PRIVATE KEY-----\n«»\n-----END EC PRIVATE KEY-----\n', 'n': 1}
{"pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\\n«»\\n-----END ENCRYPTED PRIVATE KEY-----"}
-----BEGIN PGP PRIVATE KEY BLOCK-----↵↵«»↵-----END PGP PRIVATE KEY BLOCK-----
-----BEGIN CERTIFICATE-----↵MIIB↵-----END CERTIFICATE-----↵-----BEGIN PRIVATE KEY-----↵«»↵-----END PRIVATE KEY-----
('ann', '$2b$12$«»')
$argon2id$v=19$m=65536,t=3,p=4$«»$«»
pbkdf2_sha256$600000$«»$«»=
`);
