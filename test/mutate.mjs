// How many faults the tests of a folder notice: each is put in by Stryker, and the tests that reach it must fail.
//   npm run mutate -- <folder of src> [--lines 300] [--seed 17] [--tests <glob> …]
// Without --lines every function of the folder is tried, otherwise a random choice of functions with so many lines in all:
// the same seed chooses the same ones. Stryker is installed below .cache on the first run.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const VERSION = '9.6.1';
const HOME = '.cache/stryker';

/** The tests that judge a folder, if they are not those of the folder of the same name alone. */
const JUDGES = {
  causes: ['test/**/*cause*.test.ts'],
  findings: [
    'test/findings/**/*.test.ts',
    'test/routes/findings.test.ts',
    'test/routes/running-tasks.test.ts',
  ],
  graph: ['test/graph/**/*.test.ts', 'test/routes/workflow*.test.ts'],
  'history/answers': ['test/history/**/*.test.ts', 'test/select/**/*.test.ts'],
  'history/merge': ['test/history/**/*.test.ts', 'test/stored/**/*.test.ts'],
  read: ['test/read/**/*.test.ts', 'test/router/**/*.test.ts', 'test/combine/combine-sources.test.ts'],
  redact: ['test/redact/**/*.test.ts', 'test/secrets/**/*.test.ts'],
  select: [
    'test/select/**/*.test.ts',
    'test/routes/**/*.test.ts',
    'test/router/conditions.test.ts',
    'test/combine/task-stats.test.ts',
  ],
  serialize: ['test/serialize/**/*.test.ts', 'test/routes/**/*.test.ts'],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    lines: { type: 'string' },
    seed: { type: 'string', default: '17' },
    tests: { type: 'string', multiple: true },
  },
});
const folder = positionals[0]?.replace(/^src\//, '').replace(/\/$/, '');
if (folder === undefined || !existsSync(`src/${folder}`)) {
  console.error('Write: npm run mutate -- <folder of src> [--lines 300] [--seed 17] [--tests <glob> …]');
  process.exit(2);
}

/** The statements of the files that are more than imports and types, as `file:first line-last line`. */
function rangesOf(files) {
  return files.flatMap((path) => {
    const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
    return source.statements
      .filter(
        (one) => ts.isFunctionDeclaration(one) || ts.isClassDeclaration(one) || ts.isVariableStatement(one),
      )
      .map((one) => ({
        path,
        name: (one.name ?? one.declarationList.declarations[0].name).getText(),
        from: lineOf(one.getStart()),
        to: lineOf(one.getEnd()),
      }));
  });
}

/** The order depends on their names alone, so that another commit tries the same ones. */
function choose(ranges, lines) {
  const rank = ({ path, name }) =>
    createHash('sha256').update(`${values.seed} ${path} ${name}`).digest('hex');
  let rest = lines;
  return ranges
    .map((range) => ({ range, at: rank(range) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1))
    .flatMap(({ range }) => {
      if (rest <= 0) return [];
      rest -= range.to - range.from + 1;
      return [range];
    });
}

const files = readdirSync(`src/${folder}`, { recursive: true })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${folder}/${name}`)
  .sort();
const all = rangesOf(files);
const chosen = values.lines === undefined ? all : choose(all, Number(values.lines));

if (!existsSync(`${HOME}/node_modules/@stryker-mutator/core`)) {
  mkdirSync(HOME, { recursive: true });
  // Without peers: the tests run in the vitest of this project.
  const packages = [`@stryker-mutator/core@${VERSION}`, `@stryker-mutator/vitest-runner@${VERSION}`];
  const options = [
    '--no-save',
    '--no-package-lock',
    '--legacy-peer-deps',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const { status } = spawnSync('npm', ['install', '--prefix', HOME, ...options, ...packages], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

const config = `${HOME}/config.json`;
writeFileSync(
  config,
  JSON.stringify({
    testRunner: 'vitest',
    plugins: [`${process.cwd()}/${HOME}/node_modules/@stryker-mutator/vitest-runner/dist/src/index.js`],
    vitest: { configFile: 'test/mutate.config.ts', related: false },
    mutate: chosen.map(({ path, from, to }) => `${path}:${from}-${to}`),
    // A fault in what runs once, when the module is loaded, cannot be switched on later.
    ignoreStatic: true,
    concurrency: 1,
    timeoutMS: 30_000,
    reporters: ['clear-text', 'json'],
    jsonReporter: { fileName: `${HOME}/${folder.replaceAll('/', '-')}.json` },
    tempDirName: '.cache/mutate',
    ignorePatterns: ['.cache', 'docs', 'benchmarks', 'examples'],
  }),
);
const judges = values.tests ?? JUDGES[folder] ?? [`test/${folder}/**/*.test.ts`];
console.log(
  `${chosen.length} of ${all.length} functions and constants of src/${folder}, judged by ${judges.join(' ')}`,
);
const { status } = spawnSync(
  process.execPath,
  [`${HOME}/node_modules/@stryker-mutator/core/bin/stryker.js`, 'run', config],
  {
    stdio: 'inherit',
    env: { ...process.env, TASK_MONITOR_MUTATE: judges.join(' ') },
  },
);
process.exit(status ?? 1);
