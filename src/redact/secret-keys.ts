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

/** Words that name a secret anywhere in a key. */
const SECRET = wordSet(
  'password passwords passwd passwds pwd passphrase passphrases passcode secret secrets token tokens jwt',
  'authorization credential credentials cred creds bearer dsn otp totp cvv cvc apikey apikeys sessid',
);

/** Words that name a secret at the end of a key, or directly before one of {@link CARRIER}. */
const SECRET_AT_END = wordSet('pass auth session sessions cookie cookies sid csrf xsrf');

const CARRIER = wordSet(
  'id ids key keys token header headers value data string code hash secret password word',
);

/** Endings that name a secret in keys whose words are joined. */
const SECRET_ENDING =
  /(?:password|passwd|passphrase|secret|token|apikey|accesskey|secretkey|privatekey|signingkey|credentials?|authorization|cookie|sessionid|sessid|sessiontoken|requirepass|masterauth|dbpass|userpass|sshpass)$/;
const SECRET_BEGINNING = /^(?:password|passwd)(?!less)/;

/** Words that name a secret when `key` follows. */
const KEY_OF_SECRET = wordSet(
  'api access private secret encryption encrypt decryption signing signature master shared account storage ssh',
  'pgp gpg hmac cipher crypto deploy service auth session symmetric aes rsa webhook license client admin root',
  'subscription',
);

/** Pairs of words that name a secret. */
const SECRET_PAIRS: ReadonlySet<string> = new Set([
  'connection string',
  'conn string',
  'conn str',
  'amz signature',
  'goog signature',
  'access signature',
]);

/** Last words of keys whose value describes the secret and is not the secret. */
const DESCRIBING = wordSet(
  'count counts total type types kind length len size limit max min expires expiry expired expiration at ttl',
  'age time timeout date day days hours minutes seconds name names policy enabled disabled required valid',
  'status state field fields usage used rate index version algorithm alg strength changed updated created',
  'domain path file filename dir endpoint engine format method backend class model middleware provider scheme',
  'failed failures attempts errors error exception',
);

/** First words of keys whose value is a flag or a figure. */
const QUALIFYING = wordSet('is has have needs requires allow allows no without can max min num total');

/** Words before `tokens` when these are the tokens of a language model. */
const COUNTED = wordSet('prompt completion input output cached reasoning used');

function wordSet(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
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

/** Whether these words name a secret by the built-in rules. */
export function namesSecret(words: readonly string[]): boolean {
  const last = words[words.length - 1];
  if (
    last === undefined ||
    (words.length > 1 && (DESCRIBING.has(last) || QUALIFYING.has(words[0] as string)))
  )
    return false;
  if (last === 'tokens' && COUNTED.has(words[words.length - 2] ?? '')) return false;
  return words.some((word, index) => {
    const next = words[index + 1];
    if (SECRET.has(word)) return true;
    if (SECRET_AT_END.has(word)) return next === undefined || CARRIER.has(next);
    if (SECRET_ENDING.test(word) || SECRET_BEGINNING.test(word)) return true;
    if (next === undefined) return false;
    return (
      ((next === 'key' || next === 'keys') && KEY_OF_SECRET.has(word)) || SECRET_PAIRS.has(`${word} ${next}`)
    );
  });
}

const QUERY_SECRET = /^(?:[?&;]|%26|%3f|\\?u0026)(?:sig|signature)$/i;

/**
 * Whether a key names a secret in the query of a URL, where a signature grants access.
 *
 * @param parameter the key with the character or escape before it: `&sig`, `%26sig`
 */
export function namesSecretInQuery(parameter: string): boolean {
  return QUERY_SECRET.test(parameter);
}

const PASSWORD = /pass(?:word|wd|phrase)$/i;

/** Whether a key names a password: `PASSWORD 'x'` in SQL, `wrong password 'x'`. */
export function namesPassword(key: string): boolean {
  return PASSWORD.test(key);
}

/** Whether a key contains these words side by side. */
export function hasWords(words: readonly string[], wanted: readonly string[]): boolean {
  if (wanted.length === 0) return false;
  for (let start = 0; start + wanted.length <= words.length; start++) {
    if (wanted.every((word, index) => words[start + index] === word)) return true;
  }
  return false;
}
