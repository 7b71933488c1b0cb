import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs, seedOf } from '../helpers/cases.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { type Coverage, openCoverage } from './coverage.ts';
import type { FuzzReport } from './target.ts';
import { TARGETS } from './targets.ts';

/** Of all targets together. `npm run fuzz` sets more, and stricter bounds. */
const CASES = Number(process.env.FUZZ_CASES ?? runs(12_000));
const SEED = Number(process.env.FUZZ_SEED ?? seedOf(7));
/** What is aimed at are 50 ms; a slow machine may take ten times as long. */
const STALL_MS = Number(process.env.FUZZ_STALL_MS ?? 500);
const HAS_SUMMARY = process.env.FUZZ_SUMMARY === '1';

const shares = TARGETS.reduce((sum, { share }) => sum + share, 0);

describe('input that is not ours', () => {
  let done = 0;
  let coverage: Coverage | null = null;

  beforeAll(async () => {
    if (process.env.FUZZ_COVERAGE === '1') coverage = await openCoverage();
  });

  afterAll(async () => {
    if (HAS_SUMMARY) console.log(`${done} cases, seed ${SEED}`);
    const reached = await coverage?.take(TARGETS.flatMap(({ covers }) => covers));
    for (const [file, share] of reached ?? []) {
      console.log(`${share === null ? '  –' : String(Math.round(share * 100)).padStart(3)}% src/${file}`);
    }
  });

  it('is meant for files that exist', () => {
    const files = TARGETS.flatMap(({ covers }) => covers);
    expect(files.filter((file) => !existsSync(new URL(`../../src/${file}`, import.meta.url)))).toEqual([]);
  });

  for (const target of TARGETS) {
    const missing = target.missing ?? null;
    it.skipIf(missing !== null)(
      `does no harm: ${titleUnless(missing, target.name)}`,
      { timeout: 60_000 + CASES * 10 },
      async () => {
        const cases = Math.ceil((CASES * target.share) / shares);
        const report = await target.run({ cases, seed: SEED, stallMs: STALL_MS });
        done += report.cases;
        if (HAS_SUMMARY) show(report);
        expect(report.cases).toBeGreaterThanOrEqual(cases);
      },
    );
  }
});

function show({ name, cases, seconds, processorSeconds, slowestMs, slowest }: FuzzReport): void {
  const took = `${seconds.toFixed(1)} s (${processorSeconds.toFixed(1)} s of the processor)`;
  console.log(`${name}: ${cases} cases in ${took}, slowest ${slowestMs.toFixed(1)} ms: ${slowest}`);
}
