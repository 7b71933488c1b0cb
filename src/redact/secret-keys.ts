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
import { classOf, createAutomaton, type Found, isLatin, nextState } from './automaton.ts';
import { BACKSLASH, codeAt, unitAt } from './units.ts';

/** The meaning of a word for the key that contains it. */
type Role =
  /** A secret, anywhere in a key. */
  | 'secret'
  /** A secret at the end of a key, or directly before a `carrier`. */
  | 'last'
  | 'carrier'
  /** A secret if followed by `key`. */
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
  /** Joined words that end like a secret but do not name one. */
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

const wordsIn = (list: string): string[] => list.trim().split(/\s+/);

const ROLE_SETS = Object.fromEntries(
  Object.entries(WORDS).map(([role, list]) => [role, new Set(wordsIn(list))]),
) as unknown as Readonly<Record<Role, ReadonlySet<string>>>;

const PAIR_LIST = PAIRS.split(',').map((pair) => wordsIn(pair) as [string, string]);

/** A word and its roles. All have the same members in the same order, so that reading them is fast. */
type Word = ReturnType<typeof wordOf>;

function wordOf(text: string) {
  const has = (role: Role): boolean => ROLE_SETS[role].has(text);
  const followers = PAIR_LIST.filter(([first]) => first === text).map(([, second]) => second);
  return {
    text,
    secret: has('secret'),
    last: has('last'),
    carrier: has('carrier'),
    keyed: has('keyed'),
    isKey: text === 'key' || text === 'keys',
    ending: has('ending'),
    lastEnding: has('lastEnding'),
    beginsSecret: text === 'password' || text === 'passwd',
    describing: has('describing'),
    qualifying: has('qualifying'),
    counted: has('counted'),
    random: has('random'),
    /** Words that, when they follow this word, name a secret together with it. */
    followers: followers.length > 0 ? new Set(followers) : null,
  };
}

const UNKNOWN = wordOf('');
/** A joined word that ends in a secret one, or begins with `password`. */
const JOINED: Word = { ...UNKNOWN, secret: true };
const JOINED_LAST: Word = { ...UNKNOWN, last: true };

const KNOWN = new Set([...Object.values(ROLE_SETS).flatMap((words) => [...words]), ...PAIR_LIST.flat()]);
const automaton = createAutomaton([...KNOWN].map((text) => [text, wordOf(text)] as const));
/** For each state in which a word ends: the meaning of a longer word with this ending. */
const JOINED_WORDS = automaton.found.map(({ words }) =>
  words.some(({ ending }) => ending)
    ? JOINED
    : words.some(({ lastEnding }) => lastEnding)
      ? JOINED_LAST
      : UNKNOWN,
);

/** `random`: a secret if the value looks random. */
export type Verdict = 'secret' | 'random' | 'none';

/** Decides about the key between two indexes of a text. */
export function judgeKey(text: string, start: number, end: number): Verdict {
  return judgeWords(wordsAt(text, start, end));
}

/** The relevant words of a key. */
export interface KeyWords {
  count: number;
  first: Word;
  /** The last but one word. */
  previous: Word;
  last: Word;
  /** Whether one of them, or two adjacent ones, name a secret anywhere in a key. */
  isSecret: boolean;
}

/** Reads the words of the key between two indexes of a text. Its letters may be escaped. */
export function wordsAt(text: string, start: number, end: number): KeyWords {
  const words: KeyWords = { count: 0, first: UNKNOWN, previous: UNKNOWN, last: UNKNOWN, isSecret: false };
  let state = 0;
  let length = 0;
  let isUpper = false;
  let beginsSecret = false;
  for (let at = start; at < end; ) {
    let code = codeAt(text, at++);
    if (code === BACKSLASH) ({ code, end: at } = unitAt(text, at - 1));
    const isLetter = isLatin(classOf(code));
    const wasUpper = isUpper;
    if (code < 128) isUpper = code <= 90 && code >= 65;
    if (length > 0 && (!isLetter || (isUpper && (!wasUpper || isLower(codeAt(text, at)))))) {
      addWord(words, wordAt(state, length, beginsSecret));
      state = length = 0;
      beginsSecret = false;
    }
    if (!isLetter) continue;
    state = nextState(automaton.next, state, code);
    length++;
    if (state >= automaton.firstFound && (length === 6 || length === 8)) {
      beginsSecret ||= automaton.depths[state] === length && foundAt(state).words[0]?.beginsSecret === true;
    }
  }
  if (length > 0) addWord(words, wordAt(state, length, beginsSecret));
  return words;
}

function addWord(words: KeyWords, word: Word): void {
  if (words.count++ === 0) words.first = word;
  words.previous = words.last;
  words.last = word;
  words.isSecret ||= word.secret || makeSecret(words.previous, word);
}

/** The words of a key that consists of two parts. */
export function joinWords(before: KeyWords, behind: KeyWords): KeyWords {
  if (before.count === 0 || behind.count === 0) return before.count === 0 ? behind : before;
  return {
    count: before.count + behind.count,
    first: before.first,
    previous: behind.count > 1 ? behind.previous : before.last,
    last: behind.last,
    isSecret: before.isSecret || behind.isSecret || makeSecret(before.last, behind.first),
  };
}

const isLower = (code: number): boolean => code >= 97 && code <= 122;

const foundAt = (state: number) => automaton.found[state - automaton.firstFound] as Found<Word>;

function wordAt(state: number, length: number, beginsSecret: boolean): Word {
  if (state < automaton.firstFound) return beginsSecret ? JOINED : UNKNOWN;
  const { words, length: longest } = foundAt(state);
  const whole = longest === length ? words[0] : undefined;
  if (whole !== undefined && (whole.last || !whole.ending)) return whole;
  return beginsSecret ? JOINED : (JOINED_WORDS[state - automaton.firstFound] as Word);
}

/** Whether two adjacent words name a secret. */
function makeSecret(first: Word, second: Word): boolean {
  if ((first.last && second.carrier) || (first.keyed && second.isKey)) return true;
  return first.followers?.has(second.text) === true;
}

/** Judges a key by its words. */
export function judgeWords({ count, first, previous, last, isSecret }: KeyWords): Verdict {
  if (count > 1 && (last.describing || first.qualifying)) return 'none';
  if (last.text === 'tokens' && previous.counted) return 'none';
  if (isSecret || last.last) return 'secret';
  return last.random ? 'random' : 'none';
}

/** Stems for the automaton: every key that names a secret contains one of them. */
export function keyStems(): string[] {
  const { secret, last, ending, lastEnding, random } = ROLE_SETS;
  const stems = [...secret, ...last, ...ending, ...lastEnding, ...random, 'key'];
  stems.push(...PAIR_LIST.flatMap(([first, second]) => [`${first}-${second}`, `${first}${second}`]));
  return stems.filter((stem) => !stems.some((other) => other !== stem && stem.includes(other)));
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

/** Whether a key contains these words in a row. */
export function hasWords(words: readonly string[], wanted: readonly string[]): boolean {
  if (wanted.length === 0) return false;
  for (let start = 0; start + wanted.length <= words.length; start++) {
    if (wanted.every((word, index) => words[start + index] === word)) return true;
  }
  return false;
}
