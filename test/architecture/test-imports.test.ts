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
    /^src\/(?:history\/store|stores\/(?:sqlite\/sqlite-store|postgres\/create-postgres-store))\.ts$/,
  ],
  [
    'Broker and ResultBackend, and the Celery source over them',
    /^src\/sources\/celery\/(?:broker|result-backend|celery-source|settings)\.ts$/,
  ],
  ['the redactor', /^src\/redact\.ts$/],
  ['the graph over plain tasks', /^src\/graph\.ts$/],
  ['rules and answers over plain situations', /^src\/(?:findings|answers)\//],
  ['selection over plain tasks', /^src\/select\.ts$/],
  ['the wire serializer', /^src\/serialize\.ts$/],
  ['the search language', /^src\/dashboard\/search\//],
];

/** Files that still reach behind a seam. None may join them, and what no longer does so leaves the list. */
const BEHIND: readonly string[] = [
  'test/celery/array-broker.ts',
  'test/celery/leader-lab.ts',
  'test/celery/sql/result-lab.ts',
  'test/command/read-command.test.ts',
  'test/shared/scheduler.test.ts',
];

const isBehind = (target: string): boolean =>
  target.startsWith('src/') && !SEAMS.some(([, modules]) => modules.test(target));

describe('tests import from src', () => {
  it('what is public, and the seams', () => {
    const strays = filesBelow('test')
      .filter((file) => importsOf(file).some(isBehind))
      .map(({ path }) => path);
    expect(strays).toEqual(BEHIND.toSorted());
  });
});
