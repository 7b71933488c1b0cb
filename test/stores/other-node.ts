/** What only a Node with SQLite can run, in such a Node. */
import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { runTestsOn } from '../helpers/other-node.ts';

/** It runs many tests. */
export const TIMEOUT_MS = 240_000;

/** Expects all tests of stores in SQLite, and of what is read from them, to run with a Node and to pass. */
export async function expectStoresOn(node: string): Promise<void> {
  const { failed, skipped, files } = await runTestsOn(node, 'test/stores/', 'test/stored/');
  expect(failed).toEqual([]);
  expect(skipped).toEqual([]);
  const expected = ['test/stored', 'test/stores'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.node22.ts'))
      .sort()
      .map((name) => `${folder}/${name}`),
  );
  expect(expected.length).toBeGreaterThan(1);
  expect(files).toEqual(expected);
}
