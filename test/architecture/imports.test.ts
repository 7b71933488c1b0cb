import { describe, expect, it } from 'vitest';
import { filesBelow, importsOf } from './source-files.ts';

/** A file imports only what has its own rank or a lower one. A new folder or file of `src` gets a rank here. */
const RANKS: Readonly<Record<string, number>> = {
  model: 0,
  wire: 0,
  errors: 0,
  debug: 0,
  text: 0,
  causes: 0,
  'check-options': 0,
  cursor: 0,
  'lru-cache': 0,
  'kept-connection': 0,
  'merge-sorted': 0,
  scheduler: 0,
  'server-problems': 0,
  'server-urls': 0,
  'single-flight': 0,
  tls: 0,
  'turn-clock': 0,
  values: 0,
  waiting: 0,
  source: 1,
  serialize: 1,
  graph: 1,
  redact: 1,
  select: 1,
  redis: 1,
  amqp: 1,
  history: 1,
  findings: 1,
  answers: 1,
  metrics: 1,
  stores: 1,
  options: 2,
  read: 2,
  sources: 2,
  combine: 2,
  testing: 2,
  client: 2,
  // Runs in browsers; nothing imports it.
  dashboard: 7,
  http: 3,
  routes: 4,
  handler: 5,
  router: 5,
  names: 6,
  index: 6,
  node: 6,
  // A program: it uses the entries as an app does.
  command: 7,
  // Entries of the subpaths: they only pass names on.
  bullmq: 6,
  celery: 6,
  memory: 6,
  sqlite: 6,
  postgres: 6,
};

/** The same inside the Celery source: what decodes knows no deployment, and only its entry knows all of it. */
const CELERY_RANKS: Readonly<Record<string, number>> = {
  hint: 0,
  'message-queue': 0,
  zones: 0,
  settings: 1,
  protocol: 1,
  lineage: 2,
  sql: 2,
  broker: 3,
  'result-backend': 3,
  brokers: 3,
  backends: 3,
  control: 3,
  results: 3,
  queues: 3,
  schedules: 3,
  hints: 3,
  collector: 4,
  collection: 5,
  connect: 6,
  answers: 8,
  published: 8,
  metrics: 9,
  'celery-source': 10,
  shared: 11,
  'celery-sources': 13,
};

/** The same inside the BullMQ source: queues and jobs at the bottom, what is shown of them above. */
const BULLMQ_RANKS: Readonly<Record<string, number>> = {
  access: 0,
  jobs: 1,
  events: 1,
  schedules: 2,
  walk: 2,
  workers: 2,
  activity: 3,
  components: 3,
  recorded: 4,
  tasks: 5,
  metrics: 4,
  'bullmq-sources': 6,
};

/** Packages, and the only places that import them. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  // Bundled into the page: the host installs none of it.
  preact: /^src\/dashboard\//,
  'preact/hooks': /^src\/dashboard\//,
  croner: /^src\/sources\/celery\/schedules\/crontab\.ts$/,
  debug: /^src\/debug\.ts$/,
  express: /^src\/router\.ts$/,
  amqplib: /^src\/amqp\/amqplib\.ts$/,
  '#page': /^src\/http\/dashboard\.ts$/,
  'prom-client': /^src\/metrics\/exposition\.ts$/,
  'http-proxy-middleware': /^src\/metrics\/scrape\.ts$/,
  ioredis: /^src\/redis\//,
  redis: /^src\/redis\//,
};

/** `src/openapi` and `src/bundle` are build tools: they may import everything else, and nothing else imports them. */
const TOOLS = /^src\/(?:openapi|bundle)\//;
const sources = filesBelow('src', ['.ts', '.tsx']).filter(({ path }) => !TOOLS.test(path));

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

  it.each([
    ['Celery', 'src/sources/celery/', CELERY_RANKS],
    ['BullMQ', 'src/sources/bullmq/', BULLMQ_RANKS],
  ] as const)('go downward only inside the %s source, where every file has a rank', (_, top, ranks) => {
    const rankOf = (path: string): number | undefined =>
      ranks[path.slice(top.length).replace(/(\/.*|\.ts)$/, '')];
    const own = sources.filter(({ path }) => path.startsWith(top));
    expect(own.map(({ path }) => path).filter((path) => rankOf(path) === undefined)).toEqual([]);
    const upward = own.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith(top))
        .filter((target) => (rankOf(target) ?? Infinity) > (rankOf(file.path) ?? 0))
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
          .filter((target) => /^src\/(sources|http|routes|wire|serialize|router|read|options)\b/.test(target))
          .filter((target) => !target.startsWith(`${own}/`))
          .map((target) => `${file.path} -> ${target}`);
      });
    expect(strays).toEqual([]);
  });

  it('let the page know nothing but the client and the types of bodies', () => {
    const strays = sources
      .filter(({ path }) => path.startsWith('src/dashboard/'))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => target.startsWith('src/'))
          .filter((target) => !/^src\/(?:dashboard\/|client\.ts$|wire\.ts$)/.test(target))
          .map((target) => `${file.path} -> ${target}`),
      );
    expect(strays).toEqual([]);
  });

  it('never let text become markup, code or a style that a strict policy forbids', () => {
    const dangerous =
      /dangerouslySetInnerHTML|\.(?:inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|cssText|\bstyle="/;
    const strays = sources
      .filter(({ path, text }) => path.startsWith('src/dashboard/') && dangerous.test(text))
      .map(({ path }) => path);
    expect(strays).toEqual([]);
  });

  it('write relative paths with their ending', () => {
    const bare = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/') && !/\.(tsx?|json|css)$/.test(target))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(bare).toEqual([]);
  });
});
