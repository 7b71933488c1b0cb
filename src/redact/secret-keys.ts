/**
 * Decides by its words whether a key names a secret.
 *
 * A key is split into words at anything but letters and where its case changes: `X-Api-Key`, `x_api_key` and
 * `xApiKey` are `x api key`. A key names a secret when it contains a secret word (`password`, `token`), also
 * at the end of joined words (`dbpassword`, `authtoken`), or a secret pair of words (`api key`). It does not
 * when its last word shows that the value only describes the secret (`token_count`, `password_length`,
 * `secret_name`), or its first word that the value is a flag or a figure (`has_password`, `max_tokens`).
 * Words such as `session`, `auth` and `cookie` name a secret at the end of the key, or directly before `id`,
 * `key` …
 */
import { createAutomaton, isLatin, isSameLetter, nextState } from './automaton.ts';
import { escapeLength, unitAt } from './units.ts';

/** What a word says about the key that contains it. */
type Role =
  /** A secret, anywhere in a key. */
  | 'secret'
  /** A secret at the end of a key, or directly before a `carrier`. */
  | 'last'
  | 'carrier'
  /** A secret when `key` follows. */
  | 'keyed'
  /** Names a secret at the end of joined words, such as `dbpassword`. */
  | 'ending'
  /** The same as `last`, at the end of joined words. */
  | 'lastEnding'
  /** As the last word: the value describes the secret and is not the secret. */
  | 'describing'
  /** As the first word: the value is a flag or a figure. */
  | 'qualifying'
  /** Before `tokens`: these are the tokens of a language model. */
  | 'counted'
  /** A secret if the value looks random: the signature of a request, not that of a function. */
  | 'random'
  /** Joined words that end like a secret and name none. */
  | 'harmless';

const WORDS: Readonly<Record<Role, string>> = {
  secret: `password passwords passwd passwds pwd pwds pw pws passphrase passphrases passcode passcodes passkey secret
    secrets token tokens jwt authorization credential credentials cred creds bearer dsn otp totp cvv cvc apikey apikeys
    sessid ssn mnemonic mdp passwort kennwort contrasena contrasenas contrasenya contrasinal kontrasenyas senha senhas
    parol parola haslo heslo geslo jelszo losenord wachtwoord sifre katasandi sandi katalaluan matkhau kalmarsirri
    nenosiri nywila mima salasana adgangskode passord lozinka zaporka motdepasse cardnumber cardno ccnumber privkey`,
  last: 'pass auth session sessions cookie cookies sid csrf xsrf clave claves creditcard',
  carrier: 'id ids key keys token header headers value data string code hash secret password word',
  keyed: `api access private priv secret encryption encrypt enc decryption decrypt signing signature master shared
    account storage ssh pgp gpg hmac cipher crypto fernet deploy service auth session symmetric aes rsa tls ssl webhook
    license client admin root subscription app application consumer write stripe openai anthropic twilio sendgrid
    mailgun mailchimp mandrill postmark sparkpost github gitlab bitbucket aws azure gcp google firebase slack discord
    telegram datadog relic newrelic sentry algolia mapbox maps pusher paypal braintree square cloudflare heroku vercel
    netlify digitalocean hetzner notion figma doppler shopify mixpanel amplitude intercom hubspot salesforce zendesk
    atlassian okta supabase cohere mistral groq gemini huggingface elevenlabs deepl pinecone weaviate langsmith
    recaptcha captcha hcaptcha turnstile vonage nexmo plivo razorpay adyen klarna mollie plaid coinbase binance kraken
    infura alchemy pubnub rollbar bugsnag honeybadger grafana honeycomb posthog openweather`,
  ending: `password passwd passphrase secret token apikey accesskey secretkey privatekey privkey signingkey fernetkey
    consumerkey credential credentials authorization cookie sessionid sessid sessiontoken requirepass masterauth passwort
    kennwort contrasena senha motdepasse wachtwoord pwd`,
  lastEnding: 'pass pw',
  describing: `count counts total type types kind length len size limit max min expires expiry expired expiration at
    ttl age time timeout date day days hours minutes seconds name names policy enabled disabled required valid status
    state field fields usage used rate index version algorithm alg strength changed updated created domain path file
    filename dir endpoint engine format method backend class model middleware provider scheme failed failures attempts
    errors error exception`,
  qualifying: 'is has have needs requires allow allows no without can max min num total',
  counted: 'prompt completion input output cached reasoning used',
  random: 'signature signatures',
  harmless: 'bypass compass encompass overpass underpass surpass trespass passwordless passwdless',
};

/** Pairs of words that name a secret. */
const PAIRS = `connection string,conn string,conn str,amz signature,goog signature,access signature,pass phrase,
  pass word,pass code,card number,card num,card no,cc number,cc num,credit card,recovery code,recovery codes,
  backup code,backup codes,scratch code,scratch codes,security answer,security answers,security number,seed phrase,
  de passe,mot passe,palavra passe,kata sandi,kata laluan,mat khau,kalmar sirri,la siri,neno siri`;

/** The word for password in scripts other than Latin. A key that contains one names a secret. `-`: may be left out. */
const FOREIGN = `пароль пароля паролі гасло лозинка парола құпиясөз κωδικός-πρόσβασης συνθηματικό סיסמה סיסמא
  كلمة-المرور كلمة-السر كلمة-سر كلمة-مرور الباسورد باسورد باسوورد رمز-عبور رمز-المرور کلمه-عبور گذرواژه پاس-ورڈ پاسورد
  पासवर्ड कूटशब्द संकेतशब्द গুপ্তশব্দ পাসওয়ার্ড ਪਾਸਵਰਡ પાસવર્ડ ପାସୱାର୍ଡ ಪಾಸ್-ವರ್ಡ್ పాస్-వర్డ్ கடவுச்சொல் பாஸ்-வேர்ட் പാസ്-വേഡ്
  മുරපදය රහස්-පදය รหัสผ่าน လျှို့ဝှက်နံပါတ် ពាក្យសម្ងាត់ პაროლი գաղտնաբառ የይለፍ-ቃል 密码 密碼 口令 密語 暗証番号 合言葉 パスワード
  パスフレーズ 비밀번호 패스워드`;

const ROLES = Object.keys(WORDS) as Role[];

/** A word and its roles. */
interface Word extends Readonly<Record<Role, boolean>> {
  readonly text: string;
  /** Words that make a secret with this one when they follow it. */
  readonly followers: ReadonlySet<string>;
}

const wordsIn = (list: string): string[] => list.trim().split(/\s+/);

const ROLE_SETS = Object.fromEntries(
  ROLES.map((role) => [role, new Set(wordsIn(WORDS[role]))]),
) as unknown as Readonly<Record<Role, ReadonlySet<string>>>;

const PAIR_LIST = PAIRS.split(',').map((pair) => wordsIn(pair) as [string, string]);

function wordOf(text: string): Word {
  const roles = Object.fromEntries(ROLES.map((role) => [role, ROLE_SETS[role].has(text)]));
  const followers = new Set(PAIR_LIST.filter(([first]) => first === text).map(([, second]) => second));
  return { ...(roles as Record<Role, boolean>), text, followers };
}

const UNKNOWN = wordOf('');
/** A joined word that ends in a secret one, or begins with `password`. */
const JOINED: Word = { ...UNKNOWN, secret: true };
const JOINED_LAST: Word = { ...UNKNOWN, last: true };

const KNOWN = new Set([...Object.values(ROLE_SETS).flatMap((words) => [...words]), ...PAIR_LIST.flat()]);
const automaton = createAutomaton([...KNOWN].map((text) => [text, wordOf(text)] as const));

/** `random`: a secret if the value looks random. */
export type Verdict = 'secret' | 'random' | 'none';

/** Decides about the key between two indexes of a text. Its letters may be escaped. */
export function judgeKey(text: string, start: number, end: number): Verdict {
  const words: Word[] = [];
  let state = 0;
  let length = 0;
  let isUpper = false;
  let beginsSecret = false;
  for (let at = start; at < end; ) {
    let code = text.charCodeAt(at);
    let next = at + 1;
    if (code === 92) ({ code, end: next } = unitAt(text, at));
    at = next;
    const isLetter = isLatin(code);
    const wasUpper: boolean = isUpper;
    isUpper = code < 128 ? code >= 65 && code <= 90 : wasUpper;
    if (length > 0 && (!isLetter || (isUpper && (!wasUpper || isLower(text.charCodeAt(next)))))) {
      words.push(wordAt(state, length, beginsSecret));
      state = length = 0;
      beginsSecret = false;
    }
    if (!isLetter) continue;
    state = nextState(automaton, state, code);
    length++;
    if (length === 6 || length === 8) beginsSecret ||= beginsPassword(state, length);
  }
  if (length > 0) words.push(wordAt(state, length, beginsSecret));
  return verdictOn(words);
}

const isLower = (code: number): boolean => code >= 97 && code <= 122;

function beginsPassword(state: number, length: number): boolean {
  if (state < automaton.firstFound || automaton.depth(state) !== length) return false;
  const text = automaton.found(state).words[0]?.text;
  return text === 'password' || text === 'passwd';
}

function wordAt(state: number, length: number, beginsSecret: boolean): Word {
  if (state < automaton.firstFound) return beginsSecret ? JOINED : UNKNOWN;
  const { words, length: longest } = automaton.found(state);
  const whole = longest === length ? words[0] : undefined;
  if (whole !== undefined && (whole.last || !whole.ending)) return whole;
  if (beginsSecret || words.some(({ ending }) => ending)) return JOINED;
  return words.some(({ lastEnding }) => lastEnding) ? JOINED_LAST : UNKNOWN;
}

function verdictOn(words: readonly Word[]): Verdict {
  const last = words[words.length - 1];
  if (last === undefined || (words.length > 1 && (last.describing || words[0]?.qualifying))) return 'none';
  if (last.text === 'tokens' && words[words.length - 2]?.counted) return 'none';
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as Word;
    if (word.secret) return 'secret';
    const next = words[index + 1];
    if (word.last && (next === undefined || next.carrier)) return 'secret';
    if (next === undefined) break;
    if (word.keyed && (next.text === 'key' || next.text === 'keys')) return 'secret';
    if (word.followers.has(next.text)) return 'secret';
  }
  return last.random ? 'random' : 'none';
}

/** Texts of which every key that names a secret contains one, for the automaton that looks for keys. */
export function keyStems(): string[] {
  const { secret, last, ending, lastEnding, random } = ROLE_SETS;
  const stems = [...secret, ...last, ...ending, ...lastEnding, ...random, 'key'];
  stems.push(...PAIR_LIST.flatMap(([first, second]) => [`${first}-${second}`, `${first}${second}`]));
  return stems.filter((stem) => !stems.some((other) => other !== stem && stem.includes(other)));
}

/** The words of {@link FOREIGN}, with a `-` where a separator may be. */
export function foreignStems(): string[] {
  const words = wordsIn(FOREIGN).flatMap((word) => [word, word.replaceAll('-', '')]);
  // Some letters exist as one character and as two.
  return [
    ...new Set(
      words.flatMap((word) => [word, word.normalize('NFC'), word.replaceAll('\u09af\u09bc', '\u09df')]),
    ),
  ];
}

const plainOf = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]|\u200c|\u200d|[\s_.-]/g, '');
const FOREIGN_WORDS = [...new Set(foreignStems().map(plainOf))];

/** Whether a text contains the word for password in a script other than Latin. */
export function hasForeignWord(text: string): boolean {
  const plain = plainOf(text);
  return FOREIGN_WORDS.some((word) => plain.includes(word));
}

/** Whether one of the {@link foreignStems} ends at an index of a text. Its letters may be escaped. */
export function endsInForeignWord(text: string, word: string, end: number): boolean {
  let at = end;
  for (let index = word.length - 1; index >= 0; index--) {
    const isEscaped = text.charCodeAt(at - 6) === 92 && escapeLength(text, at - 5) === 5;
    const code = isEscaped ? Number.parseInt(text.slice(at - 4, at), 16) : text.charCodeAt(at - 1);
    if (!isSameLetter(code, word.charCodeAt(index))) return false;
    at -= isEscaped ? 6 : 1;
    while (isEscaped && text.charCodeAt(at - 1) === 92) at--;
  }
  return true;
}

/** The words of a key in lower case. */
export function wordsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
}

/** Whether a key contains these words side by side. */
export function hasWords(words: readonly string[], wanted: readonly string[]): boolean {
  if (wanted.length === 0) return false;
  for (let start = 0; start + wanted.length <= words.length; start++) {
    if (wanted.every((word, index) => words[start + index] === word)) return true;
  }
  return false;
}
