import { describe, expect, it } from 'vitest';
import { filesBelow, importsOf } from './source-files.ts';

/** A file imports only what has its own rank or a lower one. A new folder or file of `src` gets a rank here. */
const RANKS: Readonly<Record<string, number>> = {
  model: 0,
  wire: 0,
  errors: 0,
  debug: 0,
  text: 0,
  source: 1,
  serialize: 1,
  graph: 1,
  'graph-updates': 1,
  redact: 1,
  select: 1,
  history: 1,
  metrics: 1,
  options: 2,
  read: 2,
  sources: 2,
  testing: 2,
  routes: 3,
  router: 4,
  index: 5,
  // Entries of the subpaths: they only pass names on.
  celery: 5,
  memory: 5,
};

/** Packages, and the only places that import them. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  debug: /^src\/debug\.ts$/,
  // `options.ts` takes the type of what `authorize` is given.
  express: /^src\/(router\.ts|routes\/|options\.ts)/,
  'http-proxy-middleware': /^src\/routes\/metrics/,
  redis: /^src\/sources\/celery\//,
};

/** `src/openapi` is a tool of the build: it may read all of the rest, and none of the rest reads it. */
const sources = filesBelow('src').filter(({ path }) => !path.startsWith('src/openapi/'));

/** `src/routes/query.ts` belongs to `routes`, `src/model.ts` to `model`. */
function placeOf(path: string): string {
  return path.replace(/^src\//, '').replace(/(\/.*|\.ts)$/, '');
}

describe('imports', () => {
  it('has a rank for every file of src', () => {
    const unranked = sources.map(({ path }) => placeOf(path)).filter((place) => !(place in RANKS));
    expect([...new Set(unranked)]).toEqual([]);
  });

  it('go downward only', () => {
    const upward = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/'))
        .filter((target) => (RANKS[placeOf(target)] ?? Infinity) > (RANKS[placeOf(file.path)] ?? 0))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(upward).toEqual([]);
  });

  it('take each package in its own place only', () => {
    const strays = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => !target.startsWith('src/') && !target.startsWith('node:'))
        .filter((target) => !PACKAGES[target]?.test(file.path))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(strays).toEqual([]);
  });

  it('keep sources apart from each other, from HTTP and from JSON bodies', () => {
    const strays = sources
      .filter(({ path }) => path.startsWith('src/sources/'))
      .flatMap((file) => {
        const own = file.path.split('/').slice(0, 3).join('/');
        return importsOf(file)
          .filter((target) => /^src\/(sources|routes|wire|serialize|router|read|options)\b/.test(target))
          .filter((target) => !target.startsWith(`${own}/`))
          .map((target) => `${file.path} -> ${target}`);
      });
    expect(strays).toEqual([]);
  });

  it('write relative paths with their ending', () => {
    const bare = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/') && !/\.(ts|json)$/.test(target))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(bare).toEqual([]);
  });
});
