import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { anyText } from '../helpers/any-text.ts';
import { cpuMs } from '../helpers/cpu-time.ts';

const redactor = createRedactor();
const serializer = createSerializer({ redactor, preview: 16 });
const preview = (args: unknown): string | null | undefined =>
  serializer.taskRow({ id: 'a', state: 'SUCCESS', args }, 's')?.args;

describe('a preview', () => {
  it('is at most as long as the limit, the … of a cut one included', () => {
    expect(preview('x'.repeat(16))).toBe('x'.repeat(16));
    expect(preview('x'.repeat(17))).toBe(`${'x'.repeat(15)}…`);
    expect(preview('')).toBe('');
  });

  it('never splits a character', () => {
    expect(preview(`${'x'.repeat(14)}😀😀`)).toBe(`${'x'.repeat(14)}…`);
    expect(preview(`${'x'.repeat(13)}😀😀`)).toBe(`${'x'.repeat(13)}😀…`);
  });

  it('mends what is half a character in the first place', () => {
    expect(preview('a\ud83dz')).toBe('a\ufffdz');
    expect(preview('a\ude00')).toBe('a\ufffd');
    expect(preview('😀')).toBe('😀');
  });

  it('is redacted before it is cut', () => {
    expect(preview("{'password': 'a long secret'}")).toBe("{'password': '*…");
    expect(preview("{'pwd': 'a long secret'}")).toBe("{'pwd': '***'}");
  });

  it('says that it was cut when the text goes on behind what was masked', () => {
    const row = serializer.taskRow({ id: 'a', state: 'S', args: `pwd='${'x'.repeat(9_000)}', b=1` }, 's');
    expect(row?.args).toBe("pwd='***…");
    expect(row?.truncated).toEqual(['args']);
  });

  it('masks what may be the beginning of a secret where the engine has cut', () => {
    const args = 'redis://u:1234';
    const row = serializer.taskRow({ id: 'a', state: 'S', args, truncated: ['args'] }, 's');
    expect(row?.args).not.toContain('1234');
    expect(row?.truncated).toEqual(['args']);
  });

  it('costs the same however long the text behind it is', () => {
    const huge = { id: 'a', state: 'S', args: 'x'.repeat(50_000_000), result: 'password '.repeat(5_000_000) };
    const start = cpuMs();
    for (let i = 0; i < 50; i++) serializer.taskRow(huge, 's');
    // The aim is a fifth of a second; looking at all of it would take minutes.
    expect(cpuMs() - start).toBeLessThan(2_000);
  });

  it('is text of at most the limit whatever it is of, and JSON can hold it', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
        (value) => {
          const text = preview(value);
          expect(text === null || (typeof text === 'string' && text.length <= 16)).toBe(true);
          expect(JSON.parse(JSON.stringify(text))).toBe(text);
        },
      ),
      { numRuns: 300, seed: 11 },
    );
  });

  it('is well-formed whatever characters the text has', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 40 }), (text) => {
        expect(preview(text)).not.toMatch(/\p{Surrogate}/u);
      }),
      { numRuns: 500, seed: 12 },
    );
  });
});

describe('a value that is no text', () => {
  const circular: Record<string, unknown> = { a: 1 };
  circular.self = circular;
  const deep = Array.from({ length: 20_000 }).reduce<unknown>((inner) => [inner], 'x');
  const throwing = {
    good: 1,
    get bad(): never {
      throw new Error('no');
    },
  };
  const detail = (result: unknown): string | null | undefined =>
    serializer.taskDetail({ id: 'a', state: 'S', result }, 's')?.result;

  it.each<[string, unknown, string | null]>([
    ['nothing', undefined, null],
    ['null', null, null],
    ['a function', () => 1, null],
    ['a symbol', Symbol('x'), null],
    ['no number', Number.NaN, null],
    ['infinity', Number.POSITIVE_INFINITY, null],
    ['an invalid date', new Date(Number.NaN), null],
    ['true', true, 'true'],
    ['0', 0, '0'],
    ['-0', -0, '0'],
    ['a number', 1.5, '1.5'],
    ['a big integer', 123456789012345678901n, '123456789012345678901'],
    ['a bigger one than anybody reads', 1n << 100_000n, '<bigint>'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a buffer', Buffer.from('secret'), '<bytes 6>'],
    ['a typed array', new Float64Array(2), '<bytes 16>'],
    ['an array buffer', new ArrayBuffer(3), '<bytes 3>'],
    ['an error', new TypeError('bad'), 'TypeError: bad'],
    ['an array', [1, 'a', null, undefined, Number.NaN], '[1,"a",null,null,null]'],
    ['an object', { a: 1, b: undefined, c: { d: -0 } }, '{"a":1,"c":{"d":0}}'],
    ['a map', new Map([['a', 1]]), '[["a",1]]'],
    ['a set', new Set([1, 2]), '[1,2]'],
    ['a circle', circular, '{"a":1,"self":"[Circular]"}'],
    ['a depth without end', deep, '[[[[[[[["[Depth]"]]]]]]]]'],
    ['a throwing getter', throwing, '{"good":1,"bad":"[Unreadable]"}'],
    ['what says itself how to show it', new URL('https://example.com/a'), 'https://example.com/a'],
    ['what shows itself for ever', endless(), '[Depth]'],
    ['what fails to show itself', { toJSON: () => throwing.bad }, '[Unreadable]'],
    ['a revoked proxy', revoked(), '[Unreadable]'],
    ['a secret', { user: 'u', password: { old: 'a' } }, '{"user":"u","password":"***"}'],
    ['a secret in a map', new Map([['token', 'a']]), '[["token","***"]]'],
    [
      'members named as those of objects',
      JSON.parse('{"__proto__":1,"constructor":2}'),
      '{"__proto__":1,"constructor":2}',
    ],
  ])('shows %s', (_what, value, text) => {
    expect(detail(value)).toBe(text);
  });

  it('is looked at no further than is shown', () => {
    let read = 0;
    function* endless(): Generator<number> {
      for (;;) yield read++;
    }
    const set = new Set<number>();
    set[Symbol.iterator] = endless as unknown as () => ReturnType<Set<number>['values']>;
    expect(preview(set)).toBe('[0,1,2,3,4,5,6,…');
    expect(read).toBeLessThan(5_000);
  });
});

function endless(): object {
  return { toJSON: endless };
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
