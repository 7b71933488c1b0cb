import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';
import { execArgv, FAULTS, HOSTS, LIVE, settings } from './settings.ts';

/**
 * Files that change what a whole process has in common (what `redis` is, how much heap is in use, which
 * handles are open): each runs in a process of its own.
 */
const ALONE = [
  'test/celery/connection.test.ts',
  'test/celery/results.test.ts',
  'test/history/relations.test.ts',
];

const include = ['test/**/*.test.ts'];
const exclude = [FAULTS, HOSTS, ...LIVE];

export default defineConfig({
  test: {
    ...settings,
    // What tests make is mostly short-lived: collecting it less often saves a twelfth of their CPU.
    execArgv: [...execArgv, '--max-semi-space-size=64'],
    // Most of them wait for servers most of the time: two cores carry six of them.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    projects: [
      // One process runs many files: what they import, and the servers that they share, start once.
      { extends: true, test: { name: 'shared', include, exclude: [...exclude, ...ALONE], isolate: false } },
      { extends: true, test: { name: 'alone', include: ALONE, exclude } },
    ],
  },
});
