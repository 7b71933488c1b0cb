/**
 * `npm run versions`, before each release: runs the tests of Celery, RabbitMQ, BullMQ and stores on the engines of Debian 13
 * and of Debian's unstable release, with Redis and with Valkey, and writes each set that passed into docs/versions.md. Takes
 * hours; `npm run versions -- sid` tries one release, `npm run versions -- sid valkey` one set.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url).pathname;
const PAGE = `${ROOT}docs/versions.md`;
/** What meets engines, of the tests that `test/live.config.ts` has. */
const TESTS = [
  'alerting',
  'bullmq',
  'celery',
  'history',
  'incident',
  'metrics',
  'stores',
  'dashboard/deployments',
];
const SETS = [
  { release: 'trixie', title: 'Debian 13' },
  { release: 'sid', title: 'Debian unstable' },
];
const SERVERS = ['redis', 'valkey'];

/** Runs a program to its end. @returns its output; throws if it fails */
function output(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', cwd: ROOT });
  if (status !== 0) throw error ?? new Error(`${program} ended with ${status}: ${stderr}`);
  return stdout.trim();
}

/** The first version in what a program says of itself. */
const versionIn = (text) => /\d+(\.\d+)+/.exec(text)?.[0] ?? text;

/** @param path makes the command of a program */
function versionsOf(path) {
  const say =
    'import celery, kombu, platform; print(celery.__version__, kombu.__version__, platform.python_version())';
  const [celery, kombu, python] = output(path('python3'), ['-c', say]).split(' ');
  const version = (program, ...args) => versionIn(output(path(program), args));
  return {
    celery: `${celery} (kombu ${kombu}, Python ${python})`,
    rabbitmq: version('rabbitmqctl', 'version'),
    postgresql: version('postgres', '--version'),
    server: (name) => version(`${name}-server`, '--version'),
  };
}

/**
 * Runs the tests, what failed once more, alone, and counts as `.ci/run` does.
 *
 * @returns whether all have passed, at most three of them in the second run
 */
function isTested(release, server) {
  console.log(`\n== ${release} with ${server}`);
  const report = (name) => `${ROOT}.cache/versions-${release}-${server}${name}.json`;
  const run = (path, args) => {
    // That of an earlier run must not speak for this one.
    rmSync(path, { force: true });
    const valkey = server === 'valkey' ? { TASK_MONITOR_VALKEY: '1' } : {};
    const env = { ...process.env, TASK_MONITOR_ENGINES: release, TASK_MONITOR_REPORT: path, ...valkey };
    const line = ['vitest', 'run', '--config', 'test/live.config.ts', ...args];
    const { status, signal } = spawnSync('npx', line, { stdio: 'inherit', cwd: ROOT, env });
    return [path, String(signal ?? status)];
  };
  const count = (...args) =>
    spawnSync('node', ['.ci/count.mjs', ...args], {
      encoding: 'utf8',
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
      .stdout.trim()
      .split('\n')
      .filter((line) => line !== '');
  const first = run(
    report(''),
    TESTS.map((folder) => `test/${folder}`),
  );
  const again = existsSync(first[0]) ? count('again', first[0]) : [];
  const second = again.length === 0 ? [] : run(report('-again'), ['--maxWorkers=1', ...again]);
  const [sum, ...flaky] = count('sum', ...first, '1', ...second);
  const [passed, failed] = sum.split(' ');
  for (const title of flaky) console.log(`flaky: ${title}`);
  console.log(`-- ${release} with ${server}: ${passed} passed, ${failed} failed, ${flaky.length} flaky`);
  return failed === '0' && flaky.length <= 3;
}

const [onlyRelease, onlyServer] = process.argv.slice(2);
for (const { release, title } of SETS) {
  if (onlyRelease !== undefined && release !== onlyRelease) continue;
  output('sh', ['test/engines/make.sh', release]);
  const versions = versionsOf((program) => `${ROOT}.cache/engines/${release}/bin/${program}`);
  for (const server of SERVERS) {
    if (onlyServer !== undefined && server !== onlyServer) continue;
    const isGood = isTested(release, server);
    const name = server === 'redis' ? 'Redis' : 'Valkey';
    const engines = [
      versions.celery,
      versions.rabbitmq,
      `${name} ${versions.server(server)}`,
      versions.postgresql,
    ];
    if (isGood) writeRow(`| ${title}, ${name} | ${engines.join(' | ')} |`);
    else process.exitCode = 1;
  }
}

/** Writes the row of a set in place of the one that it had. */
function writeRow(row) {
  const page = readFileSync(PAGE, 'utf8');
  const [start] = row.split(' | ', 1);
  const rows = page.split('\n').filter((line) => /^\| Debian .*, (Redis|Valkey) \|/.test(line));
  const table = [
    '| Engines | Celery | RabbitMQ | Redis or Valkey | PostgreSQL |',
    '|---|---|---|---|---|',
    ...[...rows.filter((line) => !line.startsWith(`${start} |`)), row].toSorted(),
  ];
  const bullmq = readdirSync(`${ROOT}node_modules`)
    .filter((name) => /^bullmq\d*$/.test(name))
    .map((name) => JSON.parse(readFileSync(`${ROOT}node_modules/${name}/package.json`, 'utf8')).version);
  const body = `${table.join('\n')}\n\nBullMQ: ${bullmq.toSorted().join(' and ')}, with each of them.`;
  const marked = /(<!-- written by npm run versions -->\n)[\s\S]*(\n<!-- end -->)/;
  writeFileSync(
    PAGE,
    page.replace(marked, (_all, begin, end) => begin + body + end),
  );
  console.log(`\n${body}\n`);
}
