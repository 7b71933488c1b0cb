// Feedback on a change within seconds: its style, its types, and the tests next to it.
//   npm run check:quick [-- <file> …]
// Without files: what differs from the last commit. The tests are those that changed, those that import a changed file, and
// those named after it or its folder (`src/history/feed/…` is proven by `test/history/feed*.test.ts`), or else all of
// `test/history`, if these are few.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
const given = process.argv.slice(2);
const changed = (
  given.length > 0
    ? given
    : [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
).filter((path) => existsSync(path));
const code = changed.filter((path) => /\.(?:ts|tsx|mjs|js)$/.test(path));
if (code.length === 0) {
  console.log('No code has changed. Write: npm run check:quick -- <file> …');
  process.exit(0);
}

let hasFailed = false;
function run(title, command, ...args) {
  const start = performance.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  console.log(
    `${status === 0 ? 'ok' : 'FAILED'}: ${title}, ${((performance.now() - start) / 1_000).toFixed(1)} s`,
  );
  hasFailed ||= status !== 0;
}

/** Most files of tests that stand in for one that is named after a file: they must take seconds. */
const MOST_FALLBACK = 25;

/** The tests that `npm test` runs and that stand near a changed file. */
function testsNear(paths) {
  const all = readdirSync('test', { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !/^(?:faults|hosts)\//.test(name))
    .map((name) => join('test', name));
  return [
    ...new Set(
      paths.flatMap((path) => {
        const near = all.filter((test) => path === test || isNamedAfter(test, path) || imports(test, path));
        if (near.length > 0 || !path.startsWith('src/')) return near;
        const own = all.filter((test) => test.startsWith(folderOf(path)));
        if (own.length <= MOST_FALLBACK) return own;
        console.log(`No test is named after ${path}. Run some of ${folderOf(path)}.`);
        return [];
      }),
    ),
  ];
}

/** Sources are tested by engine: `src/sources/celery/schedules/` in `test/celery/schedules*`. */
function namesOf(path) {
  return path
    .replace(/^src\/(?:sources\/)?/, '')
    .replace(/\.tsx?$/, '')
    .split('/');
}

const folderOf = (path) => `test/${namesOf(path)[0]}/`;

function isNamedAfter(test, path) {
  if (!path.startsWith('src/')) return false;
  const [, ...names] = namesOf(path);
  const folder = folderOf(path);
  if (names.length < 2)
    return test.startsWith(folder) && (names.length === 0 || test.startsWith(`${folder}${names[0]}`));
  return names.some((name) => test.startsWith(`${folder}${name}`));
}

function imports(test, path) {
  const targets = [...readFileSync(test, 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, target]) => target);
  return targets.some((target) => join(dirname(test), target) === path);
}

const style = code.filter((path) => basename(path) !== 'openapi.json');
run('style', 'npx', 'biome', 'check', ...style);
const isPage = (path) => path.startsWith('src/dashboard/');
const typed = code.filter((path) => /\.tsx?$/.test(path));
const types = (config, name) =>
  run(
    `types of ${config}`,
    process.execPath,
    'node_modules/typescript-native/bin/tsc',
    '-p',
    config,
    '--incremental',
    '--tsBuildInfoFile',
    `.cache/types-${name}.json`,
  );
if (typed.some((path) => !isPage(path))) types('tsconfig.json', 'library');
if (typed.some((path) => isPage(path) || /^src\/(?:wire|client)/.test(path)))
  types('src/dashboard/tsconfig.json', 'page');
const tests = testsNear(code);
if (tests.length > 0)
  run(
    `${tests.length} files of tests`,
    'npx',
    'vitest',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--passWithNoTests',
    '--reporter=dot',
    ...tests,
  );
process.exit(hasFailed ? 1 : 0);
