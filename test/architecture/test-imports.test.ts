import { describe, expect, it } from 'vitest';
import { filesBelow, importsOf } from './source-files.ts';

/** What of `src` a test may import: what is public, and the seams that stay when the rooms behind them are rebuilt. */
const SEAMS: readonly (readonly [what: string, modules: RegExp])[] = [
  ['public entries', /^src\/(?:index|node|celery|bullmq|memory|sqlite|postgres|client|testing|command)\.ts$/],
  [
    'the domain model, the interface of sources, the bodies of the API, errors',
    /^src\/(?:model|source|wire|errors)\.ts$/,
  ],
  [
    'HistoryWriter, HistoryIndex and HistoryReader, in memory and over a store',
    /^src\/history\/(?:history|memory-history|stored-history|stored\/create-stored-history)\.ts$/,
  ],
  [
    'StoreEngine',
    /^src\/(?:history\/store|stores\/(?:sqlite\/create-sqlite-store|postgres\/create-postgres-store))\.ts$/,
  ],
  [
    'Broker and ResultBackend, and the Celery source over them',
    /^src\/sources\/celery\/(?:broker|result-backend|celery-source|settings)\.ts$/,
  ],
  ['the redactor', /^src\/redact\.ts$/],
  ['the graph over plain tasks', /^src\/graph(?:-updates)?\.ts$/],
  ['rules over plain situations', /^src\/findings\//],
  ['selection over plain tasks', /^src\/select\.ts$/],
  ['the wire serializer', /^src\/serialize\.ts$/],
  ['the search language', /^src\/dashboard\/search\//],
];

/** Tests that reach behind a seam, and why no seam does. */
const BEHIND: Readonly<Record<string, string>> = {};

describe('tests import from src', () => {
  it('what is public, and the seams', () => {
    const strays = filesBelow('test').flatMap((file) => {
      const behind = importsOf(file).filter(
        (target) => target.startsWith('src/') && !SEAMS.some(([, modules]) => modules.test(target)),
      );
      return behind.length === 0 || file.path in BEHIND ? [] : [`${file.path}: ${behind.join(', ')}`];
    });
    expect(strays).toEqual([]);
  });

  it.each(Object.keys(BEHIND))('more, with a reason that still holds: %s', (path) => {
    const file = filesBelow('test').find((one) => one.path === path);
    const targets = file === undefined ? [] : importsOf(file);
    expect(
      targets.some(
        (target) => target.startsWith('src/') && !SEAMS.some(([, modules]) => modules.test(target)),
      ),
    ).toBe(true);
  });
});
