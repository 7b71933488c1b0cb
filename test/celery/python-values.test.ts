import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { metaOf, openArrayDeployment } from './array-deployment.ts';
import { messageOf } from './queues-lab.ts';

const PYTHON = '/usr/bin/python3';
const pythonMissing = spawnSync(PYTHON, ['--version']).status === 0 ? null : 'install python3';

/** What Python itself makes of JSON texts, one repr for each. */
function reprs(texts: readonly string[]): string[] {
  const script = 'import json,sys; print(json.dumps([repr(json.loads(t)) for t in json.load(sys.stdin)]))';
  const run = spawnSync(PYTHON, ['-c', script], { input: JSON.stringify(texts), encoding: 'utf8' });
  return JSON.parse(run.stdout) as string[];
}

/** A shown value, which the source always writes as Python's text of it. */
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What is shown of results of which this JSON is stored. */
async function resultsOf(values: readonly string[]): Promise<(string | null)[]> {
  const { publish, task } = openArrayDeployment();
  const ids = values.map((_, at) => `task-${at}`);
  for (const [at, id] of ids.entries()) {
    publish(
      id,
      metaOf(id, { result: null }).replace('"result": null', () => `"result": ${values[at]}`),
    );
  }
  await until(async () => (await task(ids.at(-1) ?? '')) !== null);
  const shown: (string | null)[] = [];
  for (const id of ids) shown.push(textOf((await task(id))?.result));
  return shown;
}

/** What is shown of positional arguments that wait in a queue, where the sender gave no text of them. */
async function argumentsOf(values: readonly string[]): Promise<(string | null)[]> {
  const { waiting, task } = openArrayDeployment();
  for (const [at, value] of values.entries()) {
    const message = JSON.parse(messageOf(`task-${at}`));
    const body = `[${value}, {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]`;
    delete message.headers.argsrepr;
    waiting.push({
      queue: 'q',
      raw: JSON.stringify({ ...message, body: Buffer.from(body).toString('base64') }),
    });
  }
  await until(async () => (await task('task-0')) !== null);
  const shown: (string | null)[] = [];
  for (const at of values.keys()) shown.push(textOf((await task(`task-${at}`))?.args));
  return shown;
}

const of = (type: string, value: string): string => `[{"__type__": "${type}", "__value__": ${value}}]`;

/** JSON as Python and kombu write it, and its text in Python. */
const VALUES: readonly (readonly [string, string])[] = [
  ['{"a": [true, false, null], "b": {}}', "{'a': [True, False, None], 'b': {}}"],
  ['[NaN,Infinity,-Infinity]', '[nan, inf, -inf]'],
  ['{"b": "NaN and \\"Infinity", "c": {"NaN": NaN}}', `{'b': 'NaN and "Infinity', 'c': {'NaN': nan}}`],
  ['[1.0,1e+300,-0.0,1208925819614629174706176]', '[1.0, 1e+300, -0.0, 1208925819614629174706176]'],
  ['["it\'s"]', '["it\'s"]'],
  ['["both \' and \\""]', `['both \\' and "']`],
  ['["line\\nand \\\\ and \\u0000 and \\u200b"]', "['line\\nand \\\\ and \\x00 and \\u200b']"],
  ['["žluťoučký 日本語 💥"]', "['žluťoučký 日本語 💥']"],
  ['["\\ud83d"]', "['\\ud83d']"],
  [of('datetime', '"2024-02-29T12:30:00.123456"'), '[datetime.datetime(2024, 2, 29, 12, 30, 0, 123456)]'],
  [
    of('datetime', '"2024-02-29T12:30:00+00:00"'),
    '[datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)]',
  ],
  [
    of('datetime', '"2024-02-29T12:30:05-05:00"'),
    '[datetime.datetime(2024, 2, 29, 12, 30, 5, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400)))]',
  ],
  [of('date', '"2024-02-29"'), '[datetime.date(2024, 2, 29)]'],
  [of('date', '"2024-02-29T00:00:00"'), '[datetime.date(2024, 2, 29)]'],
  [of('time', '"07:05:00"'), '[datetime.time(7, 5)]'],
  [of('decimal', '"1.10"'), "[Decimal('1.10')]"],
  [
    of('uuid', '{"hex": "12345678123456781234567812345678"}'),
    "[UUID('12345678-1234-5678-1234-567812345678')]",
  ],
  [of('bytes', '"it\'s"'), "[b'it\\'s']"],
  [of('base64', '"/wBB"'), "[b'\\xff\\x00A']"],
  [of('moon', '"full"'), "[{'__type__': 'moon', '__value__': 'full'}]"],
  [of('datetime', '"soon"'), "[{'__type__': 'datetime', '__value__': 'soon'}]"],
  [of('decimal', '"x\'); import os"'), `[{'__type__': 'decimal', '__value__': "x'); import os"}]`],
];

const ARGUMENTS: readonly (readonly [string, string])[] = [
  ['[]', '()'],
  ['[1]', '(1,)'],
  ['[[1, 2]]', '([1, 2],)'],
  ['[1, "]"]', "(1, ']')"],
  ['[1, 1.0, NaN, "x", 12345678901234567890]', "(1, 1.0, nan, 'x', 12345678901234567890)"],
];

describe('the Python text of a value', () => {
  it('is shown of a result', async () => {
    expect(await resultsOf(VALUES.map(([json]) => json))).toEqual(VALUES.map(([, shown]) => shown));
  });

  it('is shown of arguments as a tuple', async () => {
    expect(await argumentsOf(ARGUMENTS.map(([json]) => json))).toEqual(ARGUMENTS.map(([, shown]) => shown));
  });

  it('is walked without a stack, so depth is no danger', async () => {
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    expect(await resultsOf([deep])).toEqual([deep]);
    expect(await argumentsOf([`[${deep}]`])).toEqual([`(${deep},)`]);
  });

  it('ends where it is too long', async () => {
    const [cut] = await resultsOf([JSON.stringify({ a: 'x'.repeat(10_000_000), b: 1 })]);
    expect(cut?.length).toBe(65_536);
    expect(cut).toMatch(/^{'a': 'xxx/);
  });
});

describe.skipIf(pythonMissing !== null)(titleUnless(pythonMissing, 'the Python text'), () => {
  it('is what Python writes, whatever the value', async () => {
    const unit = fc
      .oneof(...BLOCKS.map(([from, to]) => fc.integer({ min: from, max: to })))
      .map((code) => String.fromCodePoint(code));
    const value = fc.jsonValue({ maxDepth: 4, stringUnit: unit });
    const texts = fc.sample(value, { numRuns: 1000, seed: 7 }).map((sample) => JSON.stringify([sample]));
    // Python writes some floats another way; what it has written itself stays as it is.
    const known = texts.filter((text) => !/\d[.eE]|-0/.test(text));
    expect(known.length).toBeGreaterThan(300);
    expect(await resultsOf(known)).toEqual(reprs(known));
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
