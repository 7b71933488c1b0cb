import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { titleUnless } from '../helpers/redis-server.ts';
import { type Coverage, openCoverage } from './coverage.ts';
import type { FuzzReport } from './target.ts';
import { TARGETS } from './targets.ts';

/** Of all targets together. `npm run fuzz` sets more, and stricter bounds. */
const CASES = Number(process.env.FUZZ_CASES ?? 20_000);
const SEED = Number(process.env.FUZZ_SEED ?? 7);
/** What is aimed at are 50 ms; a slow machine may take ten times as long. */
const STALL_MS = Number(process.env.FUZZ_STALL_MS ?? 500);
const HAS_SUMMARY = process.env.FUZZ_SUMMARY === '1';

const shares = TARGETS.reduce((sum, { share }) => sum + share, 0);

describe('input that is not ours', () => {
  const reports: FuzzReport[] = [];
  let coverage: Coverage | null = null;

  beforeAll(async () => {
    if (HAS_SUMMARY) coverage = await openCoverage();
  });

  afterAll(async () => {
    const reached = await coverage?.take(TARGETS.flatMap(({ covers }) => covers));
    if (reached !== undefined) summarize(reports, reached);
  });

  for (const target of TARGETS) {
    const missing = target.missing ?? null;
    it.skipIf(missing !== null)(
      `does no harm: ${titleUnless(missing, target.name)}`,
      { timeout: 60_000 + CASES * 10 },
      async () => {
        const cases = Math.ceil((CASES * target.share) / shares);
        const report = await target.run({ cases, seed: SEED, stallMs: STALL_MS });
        reports.push(report);
        expect(report.cases).toBeGreaterThanOrEqual(cases);
      },
    );
  }
});

function summarize(reports: readonly FuzzReport[], reached: ReadonlyMap<string, number | null>): void {
  const cases = reports.reduce((sum, report) => sum + report.cases, 0);
  console.log(`${cases} cases, seed ${SEED}`);
  for (const { name, cases, seconds, slowestMs, slowest } of reports) {
    console.log(
      `${name}: ${cases} cases in ${seconds.toFixed()} s, slowest ${slowestMs.toFixed(1)} ms: ${slowest}`,
    );
  }
  for (const [file, share] of reached) {
    console.log(`${share === null ? '  –' : `${String(Math.round(share * 100)).padStart(3)}%`} src/${file}`);
  }
}
