import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectMembers, valueEnd } from '../../src/sources/celery/protocol/json-text.ts';
import { parsePythonJson } from '../../src/sources/celery/protocol/python-json.ts';
import { pythonText, pythonTupleText } from '../../src/sources/celery/protocol/python-repr.ts';
import { titleUnless } from '../helpers/redis-server.ts';

const PYTHON = '/usr/bin/python3';
const pythonMissing = spawnSync(PYTHON, ['--version']).status === 0 ? null : 'install python3';

/** What Python itself makes of JSON texts, one repr for each. */
function reprs(texts: readonly string[]): string[] {
  const script = 'import json,sys; print(json.dumps([repr(json.loads(t)) for t in json.load(sys.stdin)]))';
  const run = spawnSync(PYTHON, ['-c', script], { input: JSON.stringify(texts), encoding: 'utf8' });
  return JSON.parse(run.stdout) as string[];
}

describe('JSON as Python writes it', () => {
  it('is parsed when it holds numbers that JSON does not know', () => {
    const text = '{"a": [NaN, Infinity, -Infinity, -1], "b": "NaN and \\"Infinity", "c": {"NaN": NaN}}';
    expect(parsePythonJson(text)).toEqual({
      a: [null, null, null, -1],
      b: 'NaN and "Infinity',
      c: { NaN: null },
    });
  });

  it.each(['', '{', '{"a":}', 'nope', '[NaN', '"open', 'NaNNaN', '{"a": NaN, }'])('refuses %j', (text) => {
    expect(() => parsePythonJson(text)).toThrow(SyntaxError);
  });

  it('is walked without a stack, so depth is no danger', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(valueEnd(deep, 0)).toBe(deep.length);
    expect(pythonText(deep, 0)).toBe(deep);
  });

  it('tells where the members of an object begin, and the last of two of one name', () => {
    const text = ' { "a" : [1, {"a": 2}] , "b\\u0041":"}", "a":3 } ';
    const members = objectMembers(text);
    expect([...members.keys()]).toEqual(['a', 'bA']);
    expect(text.slice(members.get('a'), valueEnd(text, members.get('a') ?? 0))).toBe('3');
  });
});

describe('the Python text of a value', () => {
  it.each([
    ['{"a": [true, false, null], "b": {}}', "{'a': [True, False, None], 'b': {}}"],
    ['[NaN,Infinity,-Infinity]', '[nan, inf, -inf]'],
    ['[1.0,1e+300,-0.0,1208925819614629174706176]', '[1.0, 1e+300, -0.0, 1208925819614629174706176]'],
    ['"it\'s"', '"it\'s"'],
    ['"both \' and \\""', `'both \\' and "'`],
    ['"line\\nand \\\\ and \\u0000 and \\u200b"', "'line\\nand \\\\ and \\x00 and \\u200b'"],
    ['"žluťoučký 日本語 💥"', "'žluťoučký 日本語 💥'"],
    ['"\\ud83d"', "'\\ud83d'"],
  ])('of %s is %s', (text, repr) => {
    expect(pythonText(text, 0)).toBe(repr);
  });

  it.each([
    ['[]', '()'],
    ['[1]', '(1,)'],
    [' [ [1, 2] ]'.trim(), '([1, 2],)'],
    ['[1, "]"]', "(1, ']')"],
    ['null', 'None'],
  ])('of the arguments %s is a tuple', (text, repr) => {
    expect(pythonTupleText(text, 0)).toBe(repr);
  });

  it.each([
    ['datetime', '"2024-02-29T12:30:00.123456"', 'datetime.datetime(2024, 2, 29, 12, 30, 0, 123456)'],
    [
      'datetime',
      '"2024-02-29T12:30:00+00:00"',
      'datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)',
    ],
    [
      'datetime',
      '"2024-02-29T12:30:05-05:00"',
      'datetime.datetime(2024, 2, 29, 12, 30, 5, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400)))',
    ],
    ['date', '"2024-02-29"', 'datetime.date(2024, 2, 29)'],
    ['date', '"2024-02-29T00:00:00"', 'datetime.date(2024, 2, 29)'],
    ['time', '"07:05:00"', 'datetime.time(7, 5)'],
    ['decimal', '"1.10"', "Decimal('1.10')"],
    ['uuid', '{"hex": "12345678123456781234567812345678"}', "UUID('12345678-1234-5678-1234-567812345678')"],
    ['bytes', '"it\'s"', "b'it\\'s'"],
    ['base64', '"/wBB"', "b'\\xff\\x00A'"],
    ['moon', '"full"', "{'__type__': 'moon', '__value__': 'full'}"],
    ['datetime', '"soon"', "{'__type__': 'datetime', '__value__': 'soon'}"],
    ['decimal', '"x\'); import os"', `{'__type__': 'decimal', '__value__': "x'); import os"}`],
  ])('of a %s written by kombu as %s is %s', (type, value, repr) => {
    expect(pythonText(`[{"__type__": "${type}", "__value__": ${value}}]`, 0)).toBe(`[${repr}]`);
  });

  it('stops soon after its limit, and is then longer than it', () => {
    const text = JSON.stringify({ a: 'x'.repeat(10_000_000), b: 1 });
    const cut = pythonText(text, 0, 100);
    expect(cut.length).toBeGreaterThan(100);
    expect(cut.length).toBeLessThan(200);
    expect(pythonTupleText(JSON.stringify([[1, 2, 3]]), 0, 5)).toMatch(/^\(\[1, 2/);
  });
});

describe.skipIf(pythonMissing !== null)(titleUnless(pythonMissing, 'the Python text'), () => {
  it('is what Python writes, whatever the value', () => {
    const unit = fc
      .oneof(...BLOCKS.map(([from, to]) => fc.integer({ min: from, max: to })))
      .map((code) => String.fromCodePoint(code));
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: unit });
    const texts = fc.sample(value, { numRuns: 1000, seed: 7 }).map((sample) => JSON.stringify(sample));
    // Python writes some floats another way; what it has written itself stays as it is.
    const known = texts.filter((text) => !/\d[.eE]|-0/.test(text));
    expect(known.length).toBeGreaterThan(300);
    expect(known.map((text) => pythonText(text, 0))).toEqual(reprs(known));
  });
});

/** Characters that every version of Unicode in use knows alike: letters, marks, controls, surrogates. */
const BLOCKS = [
  [0x00, 0x17f],
  [0x20, 0x7e],
  [0x410, 0x44f],
  [0x2000, 0x205f],
  [0x4e00, 0x9f00],
  [0xd800, 0xdfff],
  [0xe000, 0xe010],
  [0xfff9, 0xfffb],
  [0x1f600, 0x1f64f],
  [0x10fff0, 0x10ffff],
] as const;
