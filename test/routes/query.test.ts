import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { moment } from '../../src/http/moment-parameter.ts';
import { choice, integer, subset, text, texts } from '../../src/http/parameter.ts';
import { isPercentEncoding, LONGEST_QUERY, MOST_PAIRS, readQuery } from '../../src/http/query.ts';

const QUERY = {
  limit: integer('', { minimum: 1, maximum: 1_000, default: 100 }),
  minutes: integer('', { minimum: 1, maximum: 10 }),
  q: text('', 5),
  state: texts(''),
  sort: choice('', ['name', 'state'], 'name'),
  checks: subset('', ['broker', 'backend']),
  since: moment(''),
};

function read(search: string) {
  const faults: Record<string, string> = Object.create(null);
  const names = { query: QUERY, passed: ['name[]'], ignored: new Set(['token', '_']) };
  const { values, pairs } = readQuery(search, names, (parameter, detail) => {
    faults[parameter] = detail;
  });
  return { values, pairs, faults: Object.keys(faults) };
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const DEFAULTS = {
  limit: 100,
  minutes: null,
  q: null,
  state: [],
  sort: 'name',
  checks: ['broker', 'backend'],
  since: null,
};

describe('a query', () => {
  it.each(['', '&', '&&&', 'token=x', 'token=%zz&token=', '_=1&_=2', 'name[]=a&name[]=b'])(
    'reads %j as nothing but defaults',
    (search) => {
      expect(read(search)).toMatchObject({ values: DEFAULTS, faults: [] });
    },
  );

  it.each([
    ['limit=1', { limit: 1 }],
    ['limit=1000', { limit: 1_000 }],
    ['%6Cimit=5', { limit: 5 }],
    ['q=a%26b', { q: 'a&b' }],
    ['q=a+b', { q: 'a b' }],
    ['q=💣💣💣💣💣', { q: '💣💣💣💣💣' }],
    ['q=%00', { q: '\0' }],
    ['q=a=b', { q: 'a=b' }],
    ['state=B&state=A&state=B', { state: ['A', 'B'] }],
    ['state=A,B', { state: ['A,B'] }],
    ['state=__proto__', { state: ['__proto__'] }],
    ['sort=state', { sort: 'state' }],
    ['checks=backend', { checks: ['backend'] }],
    ['checks=backend,broker', { checks: ['broker', 'backend'] }],
    ['since=0', { since: new Date(0) }],
    [Array.from({ length: 50 }, () => 'state=A').join('&'), { state: ['A'] }],
  ])('reads %s', (search, expected) => {
    expect(read(search)).toMatchObject({ values: { ...DEFAULTS, ...expected }, faults: [] });
  });

  it('reads the same values alike, in whatever order they come', () => {
    const one = read('sort=state&state=B&limit=5&state=A').values;
    const two = read('state=A&limit=5&state=B&sort=state').values;
    expect(JSON.stringify(one)).toBe(JSON.stringify(two));
  });

  it.each([
    ['limit=0', ['limit']],
    ['limit=1001', ['limit']],
    ['limit=-1', ['limit']],
    ['limit=1.5', ['limit']],
    ['limit=1e2', ['limit']],
    ['limit=0x10', ['limit']],
    ['limit=%205', ['limit']],
    ['limit=+5', ['limit']],
    ['limit=NaN', ['limit']],
    ['limit=99999999999999999999', ['limit']],
    ['limit=', ['limit']],
    ['limit', ['limit']],
    ['limit=1&limit=1', ['limit']],
    ['limit[]=1', ['limit[]']],
    ['limit[gt]=1', ['limit[gt]']],
    ['LIMIT=1', ['LIMIT']],
    ['minutes=11', ['minutes']],
    ['q=123456', ['q']],
    ['q=%zz', ['q']],
    ['q=%ff', ['q']],
    ['q=%', ['q']],
    ['state=', ['state']],
    ['state=A&state=', ['state']],
    [Array.from({ length: 51 }, () => 'state=A').join('&'), ['state']],
    ['sort=Name', ['sort']],
    ['sort=__proto__', ['sort']],
    ['checks=', ['checks']],
    ['checks=broker,', ['checks']],
    ['checks=broker,workers', ['checks']],
    ['since=yesterday', ['since']],
    ['__proto__=1', ['__proto__']],
    ['constructor=1', ['constructor']],
    ['toString=1', ['toString']],
    ['=1', ['']],
    ['?limit=1', ['?limit']],
    ['name[]=%zz', ['name[]']],
    ['name=1', ['name']],
    ['limit=0&sort=x&nonsense=1&q=%zz', ['nonsense', 'q', 'limit', 'sort']],
  ])('finds every fault of %s', (search, faults) => {
    expect(read(search).faults).toEqual(faults);
  });

  it('is refused beyond its bounds, for that reason alone', () => {
    const pairs = (count: number): string => Array.from({ length: count }, () => 'token=1').join('&');
    expect(read(pairs(MOST_PAIRS)).faults).toEqual([]);
    expect(read(`${pairs(MOST_PAIRS)}&nonsense=%zz`)).toEqual({
      values: DEFAULTS,
      pairs: [],
      faults: ['nonsense'],
    });
    expect(read(`token=${'x'.repeat(LONGEST_QUERY - 6)}`).faults).toEqual([]);
    expect(read(`token=${'x'.repeat(LONGEST_QUERY - 5)}`)).toEqual({
      values: DEFAULTS,
      pairs: [],
      faults: ['token'],
    });
  });

  it('is checked for broken escapes without an exception for each', () => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    expect(read(`limit=1${'&%'.repeat(MOST_PAIRS - 1)}`).faults).toEqual(['%']);
    expect(decode).not.toHaveBeenCalled();
    decode.mockRestore();
  });

  it('has a broken escape where decodeURIComponent finds one', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '%',
        '%4',
        '%zz',
        '%41',
        '%e2%82%ac',
        '%c3',
        '%a9',
        '%ed%a0%80',
        '%c0%80',
        '%f5',
        'é',
        '€',
        'a',
      ),
      fc.integer({ min: 0, max: 255 }).map((byte) => `%${byte.toString(16).padStart(2, '0')}`),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        expect([text, isPercentEncoding(text)]).toEqual([text, decodes(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('changes no prototype', () => {
    read('__proto__=1&constructor=2&state=__proto__&__proto__[a]=1');
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});
