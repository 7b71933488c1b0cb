import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './source-files.ts';

/** Outcomes of the tests of one file, by title. Equal titles are in the list twice. */
type Outcomes = readonly (readonly [title: string, outcome: 'passed' | 'failed' | 'skipped'])[];

interface Run {
  readonly tests: Outcomes;
  readonly status: number;
  readonly errors?: readonly string[];
  /** The file itself failed, as one does that cannot be loaded. */
  readonly isBroken?: boolean;
}

interface Case {
  readonly title: string;
  readonly run: Run;
  readonly again?: Run;
  readonly atLeast?: number;
  readonly counts: string;
  readonly flaky?: readonly string[];
}

const PASSES: Outcomes = [['works', 'passed']];
const FAILS: Outcomes = [['works', 'failed']];
const NAME = 'test/a.test.ts: works';

const CASES: readonly Case[] = [
  { title: 'a test that passes', run: { tests: PASSES, status: 0 }, counts: '1 0' },
  {
    title: 'a test that fails twice',
    run: { tests: FAILS, status: 1 },
    again: { tests: FAILS, status: 1 },
    counts: '0 1',
  },
  {
    title: 'a test that fails and then passes',
    run: { tests: FAILS, status: 1 },
    again: { tests: PASSES, status: 0 },
    counts: '1 0',
    flaky: [NAME],
  },
  {
    title: 'an error outside of tests beside a flaky one',
    run: { tests: FAILS, status: 1, errors: ['lost'] },
    again: { tests: PASSES, status: 0 },
    counts: '1 1',
    flaky: [NAME],
  },
  {
    title: 'an error outside of tests in the second run',
    run: { tests: FAILS, status: 1 },
    again: { tests: PASSES, status: 1, errors: ['lost'] },
    counts: '1 1',
    flaky: [NAME],
  },
  {
    title: 'a test that passes and fails in the second run of its file',
    run: { tests: [...FAILS, ['stays', 'passed']], status: 1 },
    again: { tests: [...PASSES, ['stays', 'failed']], status: 1 },
    counts: '1 1',
    flaky: [NAME],
  },
  {
    title: 'equal titles, of which one fails',
    run: { tests: [...FAILS, ...PASSES], status: 1 },
    again: { tests: [...FAILS, ...PASSES], status: 1 },
    counts: '1 1',
  },
  { title: 'a skipped test', run: { tests: [['works', 'skipped']], status: 0 }, counts: '0 1' },
  { title: 'an exit status without a failure', run: { tests: PASSES, status: 1 }, counts: '1 1' },
  {
    title: 'a run that was ended, beside a flaky test',
    run: { tests: FAILS, status: 124 },
    again: { tests: PASSES, status: 0 },
    counts: '1 1',
    flaky: [NAME],
  },
  {
    title: 'a file that cannot be loaded, and then can',
    run: { tests: [], status: 1, isBroken: true },
    again: { tests: PASSES, status: 0 },
    counts: '1 0',
    flaky: ['test/a.test.ts: (the file)'],
  },
  {
    title: 'a file that cannot be loaded',
    run: { tests: [], status: 1, isBroken: true },
    again: { tests: [], status: 1, isBroken: true },
    counts: '0 1',
  },
  {
    title: 'fewer tests than there have to be',
    run: { tests: PASSES, status: 0 },
    atLeast: 2,
    counts: '1 1',
  },
];

describe('what CI counts', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'monitor-count-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Writes the report of a run. @returns the arguments that name it */
  function reportOf(name: string, { tests, errors = [], isBroken = false }: Run): string {
    const path = join(folder, name);
    const hasFailed = isBroken || tests.some(([, outcome]) => outcome === 'failed');
    const rows = tests.map(([title, outcome]) => ({ title, outcome }));
    writeFileSync(
      path,
      JSON.stringify({ files: [{ path: 'test/a.test.ts', hasFailed, tests: rows }], errors }),
    );
    return path;
  }

  const count = (...args: string[]): string =>
    spawnSync(process.execPath, ['.ci/count.mjs', ...args], { cwd: ROOT, encoding: 'utf8' }).stdout.trim();

  it.each(CASES)('$title', ({ run, again, atLeast = 0, counts, flaky = [] }) => {
    const second = again === undefined ? [] : [reportOf('second.json', again), String(again.status)];
    const args = [reportOf('first.json', run), String(run.status), String(atLeast), ...second];
    expect(count('sum', ...args).split('\n')).toEqual([counts, ...flaky]);
  });

  it('a run without a report is a failure', () => {
    expect(count('sum', join(folder, 'none.json'), '0', '0')).toBe('0 1');
  });

  it('files with failed tests run again, and those that could not be loaded', () => {
    expect(count('again', reportOf('first.json', { tests: FAILS, status: 1 }))).toBe('test/a.test.ts');
    expect(count('again', reportOf('first.json', { tests: [], status: 1, isBroken: true }))).toBe(
      'test/a.test.ts',
    );
    expect(count('again', reportOf('first.json', { tests: PASSES, status: 0 }))).toBe('');
  });
});
