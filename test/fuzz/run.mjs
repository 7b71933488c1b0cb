// `npm run fuzz`: the long run of the fuzz targets, with stricter bounds than `npm test` has, a count per reader and its
// slowest input; with `--coverage` also how much of each file was reached. Each run has a seed of its own, which it prints:
// `npm run fuzz -- --seed 7` repeats one.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
    // Longest time that one input may hold the event loop, in milliseconds.
    stall: { type: 'string', default: '50' },
    // Counts what is reached of each file, which takes about twice the time.
    coverage: { type: 'boolean', default: false },
    // Part of the name of a target; default: all of them.
    only: { type: 'string', default: '' },
  },
});
for (const name of ['cases', 'seed', 'stall']) {
  if (!/^\d{1,9}$/.test(values[name])) throw new TypeError(`--${name} must be a whole number, such as 7.`);
}

const repeat = ['npm run fuzz --', `--seed ${values.seed}`, `--cases ${values.cases}`];
if (values.only !== '') repeat.push(`--only ${JSON.stringify(values.only)}`);
console.log(`Seed ${values.seed}. To repeat this run: ${repeat.join(' ')}`);

const vitest = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--disable-console-intercept=true'];
const only = values.only === '' ? [] : ['--testNamePattern', values.only];
const { status } = spawnSync('npx', [...vitest, 'test/fuzz/fuzz.test.ts', ...only], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FUZZ_CASES: values.cases,
    FUZZ_SEED: values.seed,
    FUZZ_STALL_MS: values.stall,
    FUZZ_SUMMARY: '1',
    ...(values.coverage ? { FUZZ_COVERAGE: '1' } : {}),
  },
});
// Failures fill the screen: the seed is also the last thing that is read.
if (status !== 0) console.log(`It failed. To repeat it: ${repeat.join(' ')}`);
process.exitCode = status ?? 1;
