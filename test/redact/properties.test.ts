import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { anyText } from '../helpers/any-text.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { WORST_UNITS } from './adversarial.ts';
import { NOTATIONS, type Value } from './notations.ts';

const { text: redact } = createRedactor();

const SECRET = 'S3cr';
const SECRET_KEYS = ['password', 'api_key', 'X-Auth-Token', 'clientSecret', 'Authorization', 'cookie', 'dsn'];
const OTHER_KEYS = ['id', 'name', 'count', 'author', 'url', 'note'];

const hostile = fc.string({ unit: fc.constantFrom(...'ab1 ,"\'\\{}()[]:=&;\n@/é$<>-.') });
const secret = fc.tuple(hostile, hostile).map(([before, behind]) => `${before}${SECRET}${behind}`);
const harmless = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'ab c1,.\'"') }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const secretMember = fc.tuple(
  fc.constantFrom(...SECRET_KEYS),
  fc.oneof(
    secret,
    fc.array(secret, { maxLength: 2 }),
    secret.map((user) => ({ user, n: 1 })),
  ),
);
const { value } = fc.letrec<{ value: Value; list: Value; members: Value }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, depthSize: 'small' }, harmless, tie('members'), tie('list')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  members: fc
    .array(fc.oneof(secretMember, fc.tuple(fc.constantFrom(...OTHER_KEYS), tie('value'))), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
}));

/** Bits of texts that lead to secrets or end them, in no order. */
const soup = fc.string({
  unit: fc.constantFrom(
    ...[
      'password',
      'token',
      'Authorization',
      'api key',
      '--secret',
      'Bearer ',
      'Basic ',
      'eyJ',
      'AKIA',
      '://',
    ],
    ...[
      'redis://',
      '***',
      '...',
      '…',
      '-----BEGIN PRIVATE KEY-----',
      '-----END',
      "b'",
      'None',
      '\\n',
      '1',
      'a',
    ],
    ...'@\'"`\\{}()[]:=, \n&;<>?/.',
  ),
  maxLength: 40,
});

describe.each(Object.entries(NOTATIONS))('%s', (_, write) => {
  it('shows nothing of what stands under a key that names a secret', () => {
    fc.assert(fc.property(value, (held) => !redact(write(held)).includes(SECRET)));
  });

  it('shows nothing of it where the text breaks off either', () => {
    const cut = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(value, cut, (held, share) => {
        const text = write(held);
        return !redact(text.slice(0, text.length * share), 'args', true).includes(SECRET.slice(0, -1));
      }),
    );
  });

  it('finds nothing more in what it has shown', () => {
    fc.assert(
      fc.property(value, (held) => {
        const shown = redact(write(held));
        expect(redact(shown)).toBe(shown);
      }),
    );
  });
});

describe('any text', () => {
  it('stays as it is once its secrets are hidden', () => {
    fc.assert(
      fc.property(soup, (text) => {
        const shown = redact(text);
        expect(redact(shown)).toBe(shown);
      }),
      { numRuns: 1_000 },
    );
  });

  it('can be any text at all', () => {
    const any = fc.oneof(anyText(), soup);
    fc.assert(
      fc.property(any, fc.boolean(), (text, isCut) => typeof redact(text, 'result', isCut) === 'string'),
    );
  });

  it('keeps valid JSON valid', () => {
    const tame = fc.string({ unit: fc.constantFrom(...'ab1 ,.:{}[]=') });
    const entry = fc.tuple(
      fc.constantFrom(...SECRET_KEYS, ...OTHER_KEYS),
      fc.oneof(tame, fc.integer(), fc.array(tame), fc.dictionary(tame, tame)),
    );
    const object = fc.array(entry).map((entries) => Object.fromEntries(entries));
    fc.assert(
      fc.property(object, (held) => {
        expect(Object.keys(JSON.parse(redact(JSON.stringify(held))))).toEqual(Object.keys(held));
      }),
    );
  });

  it.each([
    ...['token', 'token: ', "token='", '\'token\': "\\\\",', 'password=(', "password={'a': '", '--token '],
    ...[
      "('token', '",
      '://a@',
      '://',
      'x://:',
      'eyJ.',
      'Bearer ',
      '-----BEGIN PRIVATE KEY-----',
      '<password>',
    ],
    ...[
      "'password': '\\'}, ",
      '"password":"x\\\\",',
      'key key ',
      'password\\\\\\',
      'password    ',
      'api key ',
    ],
    ...[
      '\\"token\\": \\"',
      'token:\n',
      'token:[[',
      "'token': a'",
      'Cookie: a"',
      'token=a,',
      'connection',
      'conn',
      'token=a)',
    ],
    ...['sk-', 'sk-a', 'npm_', 'gitlab gl-', '$2b$12$', 'SG.', '/bot123456:', '/api/webhooks/1/', '&sig='],
    ...[':\\/\\/', ':\\\\', '%3a%2f%2f', '%3a%2f%2fa%3ab', 'https%3A%2F%2Fa%40', 'user%5Bpassword%5D='],
    ...[
      'password: |\n ',
      'password: |\n',
      'tokens:\n- ',
      'token: |\\n  a',
      ' '.repeat(60).concat('password:\n'),
    ],
    ...['<password a="', '<a:password', '<password><![CDATA[', 'name="password" value="', 'name="token"\n\n'],
    ...[
      'name: token\n  value: ',
      'password "',
      'password \\"a',
      'password\n  input_value=',
      "password\n  ''",
    ],
    ...[
      '"token:", ',
      "'password=', ",
      '"token:"}',
      'Authorization: Digest a="b", ',
      'Cookie: a="',
      'token="""',
    ],
    ...["('password', '...", "('token', 'a...'", 'password\\n\\n', '"password"\\n:\\n'],
    ...WORST_UNITS,
  ])('takes time that grows no faster than its length: %j over and over', (unit) => {
    const text = unit.repeat(131_072 / unit.length);
    const start = cpuMs();
    redact(text);
    // The aim is 200 ms; a quadratic scan takes minutes.
    expect(cpuMs() - start).toBeLessThan(4_000);
  });

  it.each([
    ['val', 40_000],
    ['val\\u0076al', 8_000],
    ['丆丁', 40_000],
  ])(
    'takes time that grows no faster than its length: a name without a value, then %s %i times',
    (unit, times) => {
      const start = cpuMs();
      redact(`"name":"pw",${unit.repeat(times)}`);
      // The aim is 200 ms. Reading on to the end of the key at each of its parts took 10 s and more.
      expect(cpuMs() - start).toBeLessThan(4_000);
    },
  );

  it('shows no secret at the point from which it masks everything', () => {
    const tail = `\n${'MIIEvQIBADANBgkqhkiG9w0B'.repeat(4)}\n-----END PRIVATE KEY-----\npassword=hunter2`;
    for (let units = 20; units < 240; units++) {
      expect(redact('sig='.repeat(units) + tail)).not.toMatch(/MIIE|hunter2/);
      expect(redact('pw=x,'.repeat(units) + tail)).not.toMatch(/MIIE|hunter2/);
    }
  });

  it.each(['a b key=', 'key="x",', 'sk-', 'a://b:1/', '$6$ '])(
    'masks the rest of a text in which there is always something to look at: %j',
    (unit) => expect(redact(unit.repeat(400)).length).toBeLessThan(unit.length * 400),
  );

  it('shows no line of a private key above the point from which it masks everything', () => {
    const tail = `${`\n${'EAAAnBgkqhkiG9w0B'.repeat(4)}`.repeat(20)}\n-----END PRIVATE KEY-----`;
    for (let units = 0; units < 240; units++) {
      expect(redact('key="x",'.repeat(units) + tail)).not.toContain('EAAA');
    }
  });

  it('shows harmless keys that resemble secrets, however many there are', () => {
    const row = { primary_key: 1, token_count: 5, sort_key: 'a', name: 'Ann Smith', prompt_tokens: 12 };
    const text = JSON.stringify(Array.from({ length: 2_000 }, () => row));
    expect(redact(text)).toBe(text);
  });

  it('shows values under letters that the automaton cannot tell from those of a secret word', () => {
    expect(redact('{"密码": null, "丆丁": "ann"}')).toBe('{"密码": null, "丆丁": "ann"}');
  });
});
