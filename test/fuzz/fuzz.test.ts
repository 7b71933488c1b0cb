import { describe, it } from 'vitest';
import { titleUnless } from '../helpers/redis-server.ts';
import type { FuzzReport } from './target.ts';
import { TARGETS } from './targets.ts';

/** Of all targets together. `npm run fuzz` sets more, and stricter bounds. */
const CASES = Number(process.env.FUZZ_CASES ?? 20_000);
const SEED = Number(process.env.FUZZ_SEED ?? 7);
/** What is aimed at are 50 ms; a slow machine may take ten times as long. */
const STALL_MS = Number(process.env.FUZZ_STALL_MS ?? 500);

const shares = TARGETS.reduce((sum, { share }) => sum + share, 0);

describe('input that is not ours', () => {
  it.each(TARGETS.map((target) => [titleUnless(target.missing ?? null, target.name), target] as const))(
    'does no harm as %s',
    { timeout: 60_000 + CASES * 10 },
    async (_, target) => {
      const cases = Math.ceil((CASES * target.share) / shares);
      const report: FuzzReport = await target.run({ cases, seed: SEED, stallMs: STALL_MS });
      console.log(JSON.stringify(report));
    },
  );
});
