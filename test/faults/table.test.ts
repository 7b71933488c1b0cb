import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';

const ROWS = Array.from({ length: 95 }, (_, index) => index + 1);
/** Rows whose requests, middleware or errors pass through Express. */
const ON_EVERY_EXPRESS = [1, 2, 15, 37, 38, 41, 42, 43, 45, 46, 58, 59, 66, 67, 70, 71, 72, 73, 74, 78, 95];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const files = readdirSync(new URL('./', import.meta.url)).filter((name) => name.endsWith('.test.ts'));

/** Titles of all cases, as the runner itself collects them. */
async function titles(): Promise<string[]> {
  const line = ['node_modules/vitest/vitest.mjs', 'list', '--config', 'test/faults.config.ts', '--json'];
  // What the runner tells its own workers is not for another runner.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:VITE|TEST)/.test(name)),
  );
  const { stdout } = await promisify(execFile)(process.execPath, line, {
    cwd: ROOT,
    env,
    maxBuffer: 64 * 1_048_576,
  });
  const tests = JSON.parse(stdout.slice(stdout.indexOf('['))) as { readonly name: string }[];
  return tests.map(({ name }) => name);
}

describe('the fault table', () => {
  it('has a case for each of its rows, on every version of Express if that plays a part', {
    timeout: 180_000,
  }, async () => {
    const cases = (await titles()).flatMap((title) => {
      const [, row, express = 'any'] =
        /^row (\d+): .*?(?:, on (Express \d))?(?: \(skipped: (?:install|use|allow) [^)]*\))?$/s.exec(title) ??
        [];
      return row === undefined ? [] : [{ row: Number(row), express }];
    });
    expect(ROWS.filter((row) => !cases.some((one) => one.row === row))).toEqual([]);
    expect(cases.filter(({ row }) => !ROWS.includes(row))).toEqual([]);
    for (const { name } of EXPRESS_MAJORS) {
      const rows = new Set(cases.filter(({ express }) => express === name).map(({ row }) => row));
      expect([name, [...rows].sort((a, b) => a - b)]).toEqual([name, ON_EVERY_EXPRESS]);
    }
  });

  it('leaves out no case but for a service that is not installed', () => {
    const strays = files
      .filter((name) => name !== 'table.test.ts')
      .flatMap((name) => {
        const text = readFileSync(new URL(name, import.meta.url), 'utf8');
        // A test beside `faultCase` would be neither measured nor watched.
        const beside = text.matchAll(/(?<![.\w])(?:it|test|describe)(?:\.\w+)*\(/g);
        const left = text.matchAll(/\.(?:skip|only|todo|runIf|skipIf)\b|\bmissing: (?!\w+Missing\b)/g);
        return [...beside, ...left].map(([found]) => `${name}: ${found}`);
      });
    expect(strays).toEqual([]);
  });
});
