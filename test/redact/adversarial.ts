/** Texts that make redaction work hard, found by hand and by fuzzing. */

/** A text of this length that consists of one unit over and over. */
export const repeated = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/** Beginnings of secrets, keys and values that lead nowhere or overlap. */
export const ADVERSARIAL_UNITS: readonly string[] = [
  ...['sk-', '_sk-', 'sk-a1', 'eyJ.', 'ghp_', 'npm_A1', 'AKIA', 'secret_', '$6$', 'scrypt:', 'SG.'],
  ...['://', 'a://b:c,', '://a:1', '://a@', ':\\/\\/', '%3a%2f%2f', '%3a%2f%2fa%3ab', 'jdbc:oracle:a/b@'],
  ...[
    '/bot123456:',
    '/webhooks/12345/',
    'hooks.slack.com/a/',
    '-----BEGIN ',
    '-----END ',
    'Bearer ',
    'Basic A',
  ],
  ...['{"a":{"password":"x"},', 'pw=x,', 'pw=,', 'pwa=x,', '"pw":1,', '"pw', 'pw&', '&pw', '(pw ', 'a)pw='],
  ...['密码=x,', '密码=,', 'пароль:x\n', '\\u0070w=x,', '\u001b[1mpw', '\\pw', '%22pw', 'pw%3Dx%26'],
  ...['&quot;pw&quot;:', '&amp;quot;pw', '<password>', '<key>pw</key><string>x<', '<a:pw b="', 'name="pw" '],
  ...[
    '"name":"pw",',
    '"name":"pw","value":1,',
    'value',
    's:2:"pw";s:1:"x";',
    'setattr(a,"pw",',
    "('token', '",
  ],
  ...[
    "'pw','",
    '("pw","a",',
    '--pw a ',
    'pw "',
    'pw "a" ',
    '`pw`',
    '"a pw',
    'aaaaaaaa pw=',
    '" pw',
    'sig=',
    '&sig=a',
  ],
  ...[
    'key key ',
    'api key ',
    'api.key ',
    'pass ',
    'passpass',
    'token ',
    'pw:\n',
    'pw:\nabcd\n',
    'pw: |\n a\n',
  ],
  ...[
    'pw\n  input_value=',
    'Cookie: a="',
    'token=a"b',
    'token=a,',
    'pw: {',
    'pw=(',
    '{"pw":[',
    '{"pw":"a\\",',
    'pw: x\\',
  ],
];

/** Units of which fuzzing found that redaction takes the longest for them, in proportion to `JSON.stringify`. */
export const WORST_UNITS: readonly string[] = [
  ...[
    'AKIAkey key,"napw:\nA:"\', ,\\u0070',
    'AKIAkey keyapi keyname":"pw", ,\\u0070',
    'a,Ak.ey keysig_re\\u0070',
  ],
  ...[
    "AKsession1y key' ,\\u0070",
    'Akey ;key ',
    'Akey;;key ',
    'SG.keyőskA\\pwey ',
    'keysk-\n\\pwey ',
    'key %22key ',
  ],
  ...['keyapi key$sk-$%;pw%22pwdk,\\pwey ', 'keyapi keysk-$6$ \\npwdkwey ', 'kesignaturey ;keeyname="pw" y '],
  ...[
    '://%25sige_sk-I---%22pwssk--npm_ssA:',
    '://%25AAsig$_\\u0070Ae_sk-IA:',
    '\\://>sig&n%22pwaturA_sk-I\\u0070A:',
  ],
  ...[
    '\\://>s@&n%22pwaturA_sk-I\\uA0070A:',
    '://;AsignA%22psignaturewaturAe_sk-_IA:',
    '丆丁',
    '"name":"pw",valval',
  ],
  ...[
    '\\u0070w\\u0070wb$key ',
    'SG.kesignaAKIAueyname="pw"npm_A1y ',
    'SG.eysig=$',
    'a://signature%3a%2f%2fa%3abcookiei.://(cosk-oAcookiei.://(cookie',
    'pw: |\n a\n\\n\\pwthori\tattho rizatéotéon',
    'keysk-`G %ctokens_',
    's:(;s:1cookEAAA1pw1pw:ke?n"\n(pw 1?',
    '{ask-a1name="pw";evals}rypt:yJ',
    '--pw&lt;  ivalue=/phrasesksc)ypt:',
    ' pwask-',
  ],
];
