/** Names of secrets beside the usual ones, the word for password in other languages, and tokens of more services. */
import { secretTexts } from './entry.ts';

export const NAME_TEXTS = secretTexts(String.raw`
{'pw': '«»'}
pw=«»
{"db_pw": "«»"}
DB_PW=«»
{"adminPw": "«»"}
{'rootpw': '«»'}
{'mailpass': '«»'}
MAILPASS=«»
{"smtppass": "«»"}
{'privkey': '«»'}
{"ssl_privkey": "«»"}
{"privKeyPem": "«»"}
{'fernet_key': '«»='}
AIRFLOW__CORE__FERNET_KEY=«»
{"app_key": "«»"}
APP_KEY=base64:«»
{"applicationKey": "«»"}
{'consumer_key': '«»'}
oauth_consumer_key="«»"
STRIPE_KEY=«»
{"stripeKey": "«»"}
{'openai_key': '«»'}
OPENAI_KEY=«»
ANTHROPIC_KEY=«»
{"sendgrid_key": "«»"}
{"googleMapsKey": "«»"}
{"github_key": "«»"}
{"encKey": "«»"}
{'passPhrase': '«»'}
{"pass_phrase": "«»"}
{'api.key': '«»'}
api.key=«»
service.api.key: «»
{"aws.secret.access.key": "«»"}
{'signature': '«»'}
{"signature": "sha256=«9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c»"}
X-Hub-Signature-256: sha256=«9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c»
X-Signature: «»
{'ssn': '«078051120»'}
{"employeeSsn": «219099999»}
{"social_security_number": "«078051120»"}
{'card_number': '«4111111111111111»'}
{"cardNumber": «5500005555555559»}
{"cc_number": "«4111111111111111»"}
{"creditCard": "«4111111111111111»"}
card number: «4111111111111111»
{'recovery_codes': ['«»', '«»']}
{"recoveryCodes": ["«»"]}
{"backup_codes": "«»"}
backup codes: «»
{'security_answer': '«»'}
{"mnemonic": "«correct horse battery staple»"}
{"seedPhrase": "«correct horse battery staple»"}
{"密码": "«»"}
{'用户密码': '«»'}
密码：«»
密码: «»
{"密碼": "«»"}
{"口令": "«»"}
{'पासवर्ड': '«»'}
{"कूटशब्द": "«»"}
{"contraseña": "«»"}
contraseña: «»
{'contrasena': '«»'}
{"CONTRASEÑA": "«»"}
{'clave': '«»'}
{"clave_secreta_clave": "«»"}
{"mot_de_passe": "«»"}
{'motDePasse': '«»'}
mot de passe: «»
{"mdp": "«»"}
{"كلمة المرور": "«»"}
{'كلمة_السر': '«»'}
كلمة المرور: «»
{"পাসওয়ার্ড": "«»"}
{"senha": "«»"}
senha=«»
{"palavra-passe": "«»"}
{"пароль": "«»"}
Пароль: «»
{'ПАРОЛЬ': '«»'}
{"новый_пароль": "«»"}
{"parol": "«»"}
{"پاس ورڈ": "«»"}
{"پاسورڈ": "«»"}
{"kata_sandi": "«»"}
kata sandi: «»
{"sandi": "«»"}
{"passwort": "«»"}
Kennwort: «»
{"Benutzerkennwort": "«»"}
{"パスワード": "«»"}
パスワード：«»
{"संकेतशब्द": "«»"}
{"పాస్‌వర్డ్": "«»"}
{"పాస్వర్డ్": "«»"}
{"şifre": "«»"}
Şifre: «»
{"parola": "«»"}
{"கடவுச்சொல்": "«»"}
{"mật_khẩu": "«»"}
mật khẩu: «»
{"matKhau": "«»"}
{"비밀번호": "«»"}
비밀번호=«»
{"kalmar_sirri": "«»"}
{"nenosiri": "«»"}
{"neno la siri": "«»"}
{"પાસવર્ડ": "«»"}
{"ಪಾಸ್‌ವರ್ಡ್": "«»"}
{"رمز عبور": "«»"}
{"گذرواژه": "«»"}
{"รหัสผ่าน": "«»"}
{"hasło": "«»"}
hasło: «»
{"heslo": "«»"}
{"jelszó": "«»"}
{"lösenord": "«»"}
{"wachtwoord": "«»"}
{"κωδικός πρόσβασης": "«»"}
{"ΚΩΔΙΚΟΣ ΠΡΟΣΒΑΣΗΣ": "«»"}
{"ΚΩΔΙΚΌΣ ΠΡΌΣΒΑΣΗΣ": "«»"}
{"პაროლი": "«»"}
{"ᲞᲐᲠᲝᲚᲘ": "«»"}
{"סיסמה": "«»"}
{"пароля": "«»"}
f(пароль='«»')
пароль = '«»'
NRAK-«QZ7WN3KD5XJT2VPM8RLYC4HBGF6»
new_relic_license_key: «»NRAL
sq0atp-«»
sq0csp-«»
EAAAE«QZ7wN3kD5xjT2vpMQZ7wN3kD5xjT2vpMQZ7wN3kD5xjT2vpM»
vcp_«QZ7wN3kD5xjT2vpM8rLyC4hB»
dp.pt.«QZ7wN3kD5xjT2vpM8rLyC4hBgF6sQZ7wN3kD5xjT2vpM»
dp.st.prd.«QZ7wN3kD5xjT2vpM8rLyC4hBgF6sQZ7wN3kD5xjT2vpM»
ntn_«»
secret_«QZ7wN3kD5xjT2vpM8rLyC4hBgF6sQZ7wN3kD5xjT2vp»
lin_api_«»
lin_oauth_«»
figd_«»
uploaded with figd_«» to x
glsa_«»
sbp_«QZ7wN3kD5xjT2vpM8rLyC4hB»
['ntn_«»', 5]
$6$rounds=5000$«»$«»
root:$6$«»$«»:19000:0:99999:7:::
$5$«»$«»
$1$«»$«»
$y$j9T$«»$«»
$2b$12$«»
$2y$10$«»
$argon2i$v=19$m=4096,t=3,p=1$«»$«»
argon2$argon2id$v=19$m=102400,t=2,p=8$«»$«»
scrypt:32768:8:1$«»$«»
pbkdf2:sha256:600000$«»$«»
{'stored': 'pbkdf2:sha256:260000$«»$«»', 'n': 1}
bcrypt_sha256$$2b$12$«»
$pbkdf2-sha512$25000$«»$«»
$scrypt$ln=16,r=8,p=1$«»$«»
$apr1$«»$«»
https://discord.com/api/v10/webhooks/123456789012345678/«»
https://discordapp.com/api/v9/webhooks/123456789012345678/«»?wait=true
https://canary.discord.com/api/webhooks/123456789012345678/«»/slack
jdbc:oracle:thin:scott/«»@//h
jdbc:oracle:thin:scott/«»@//db:1521/shop
jdbc:oracle:thin:scott/«»@h:1521:sid
jdbc:oracle:oci:scott/«»@shop
{'url': 'jdbc:oracle:thin:scott/«»@//h', 'n': 1}
`);
