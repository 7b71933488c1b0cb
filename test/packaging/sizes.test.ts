import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pack } from './packed.ts';

const { folder } = pack();
const read = (path: string): string => readFileSync(join(folder, 'dist', path), 'utf8');

/**
 * What an app loads with each entry, with all files that it imports: at most so many kB, as they are and compressed. A
 * tenth more than was there when these were set. Raise one only together with the reason for it. What browsers load
 * has its budget in `test/dashboard/serving.test.ts`.
 */
const BUDGETS: Readonly<Record<string, readonly [kB: number, compressed: number]>> = {
  index: [550, 155],
  node: [550, 155],
  celery: [1_240, 330],
  bullmq: [905, 240],
  memory: [615, 160],
  sqlite: [92, 28],
  postgres: [110, 33],
  client: [17, 6],
  testing: [110, 31],
};
/** They are there as ES modules only; the page is loaded after its entry. */
const PROGRAMS: typeof BUDGETS = { command: [565, 165], page: [162, 121] };

const IMPORT = /(?:\bfrom|\bimport|\brequire\()\s*["']\.\/([\w-]+\.c?js)["']/g;

/** A file of the package and all that it imports; what it imports later, if at all, is not among them. */
function loadedWith(entry: string): string[] {
  const found = new Set([entry]);
  for (const path of found) {
    for (const [, imported = ''] of read(path).matchAll(IMPORT)) found.add(imported);
  }
  return [...found];
}

function expectWithin(entry: string, [raw, compressed]: readonly [number, number]): void {
  const texts = loadedWith(entry).map(read);
  const total = (sizes: number[]): number => sizes.reduce((sum, size) => sum + size, 0) / 1_000;
  const size = total(texts.map((text) => Buffer.byteLength(text)));
  const packed = total(texts.map((text) => gzipSync(text).length));
  expect.soft(size).toBeLessThanOrEqual(raw);
  expect.soft(packed).toBeLessThanOrEqual(compressed);
  // A budget far above what is there holds nothing.
  expect.soft(size).toBeGreaterThan(raw * 0.75);
}

describe('what is loaded', () => {
  const entries = Object.entries(BUDGETS).flatMap(([name, budget]) =>
    ['js', 'cjs'].map((ending) => [`${name}.${ending}`, budget] as const),
  );
  const programs = Object.entries(PROGRAMS).map(([name, budget]) => [`${name}.js`, budget] as const);

  it.each([...entries, ...programs])('with %s is within its budget', (path, budget) => {
    expectWithin(path, budget);
  });

  it('is there once, however many entries have it', () => {
    const modules = ['js', 'cjs'].map((ending) => {
      const files = Object.keys(BUDGETS).flatMap((name) => loadedWith(`${name}.${ending}`));
      return [...new Set(files)].flatMap((path) => read(path).match(/^\/\/ src\/.+/gm) ?? []);
    });
    for (const names of modules) {
      expect(names.length).toBeGreaterThan(300);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    }
  });
});
