/** Rows 1 to 3: a source that fails or hangs. */
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import { METHODS, sourcesWith, statusFor, THROWN } from '../router/hostile-values.ts';
import { expressCase, type FaultBench, faultCase } from './kit/fault-case.ts';

/** The aim is 50 ms, which the table shows; a slow machine is given as much as still tells it from the deadline. */
const PROMPT = { aimMs: 400 };

/** A host one of whose methods does with each request what it is told. */
async function hostOf({ serve }: FaultBench, [part, method]: (typeof METHODS)[number], timeoutMs = 5_000) {
  const onError = vi.fn();
  const broken = { act: (): unknown => undefined, calls: 0 };
  const sources = sourcesWith(part, method, () => {
    broken.calls += 1;
    return broken.act();
  });
  return { broken, onError, host: await serve({ sources, onError, timeoutMs, health: { reuseMs: 0 } }) };
}

expressCase(1, 'each method of a source that throws at once', async (bench) => {
  for (const method of METHODS) {
    const { broken, host, onError } = await hostOf(bench, method);
    const expected = { ...statusFor(method, 'source_unavailable'), ...PROMPT };
    for (const thrown of THROWN) {
      broken.act = () => {
        throw thrown;
      };
      const { text } = await bench.expectAnswer(host, method[2], expected);
      expect(text).not.toContain('secret');
    }
    // The others are the like of the first one.
    expect(onError).toHaveBeenCalledTimes(1);
    expect(onError.mock.calls).toMatchObject([[THROWN[0], { code: 'source_unavailable' }]]);
  }
  bench.figure('methods', METHODS.length);
});

/** Anything, and the things that are hard to look at. */
const rejection = fc.oneof(
  fc.string({ minLength: 1 }).map((text) => new Error(`hush ${text}`)),
  fc.string({ minLength: 1 }).map((text) => `hush ${text}`),
  fc.constantFrom(undefined, null, 0, Number.NaN, Symbol('hush'), Object.create(null)),
  fc.constant({
    get message() {
      throw new Error('hush');
    },
  }),
  fc.record({ message: fc.constant('hush'), code: fc.string(), status: fc.integer() }),
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
);

expressCase(2, 'each method of a source that rejects with anything', async (bench) => {
  for (const method of METHODS) {
    const { broken, host } = await hostOf(bench, method);
    const expected = { ...statusFor(method, 'source_unavailable'), ...PROMPT };
    await fc.assert(
      fc.asyncProperty(rejection, async (reason) => {
        broken.act = () => Promise.reject(reason);
        const { text } = await bench.expectAnswer(host, method[2], expected);
        expect(text).not.toContain('hush');
      }),
      { numRuns: 12 },
    );
  }
});

faultCase(3, 'each method of a source that never settles, until it is asked no more', async (bench) => {
  const timeoutMs = 60;
  for (const method of METHODS) {
    const { broken, host } = await hostOf(bench, method, timeoutMs);
    broken.act = () => new Promise(() => {});
    const late = { ...statusFor(method, 'source_timeout'), aimMs: timeoutMs + 1_000 };
    for (let round = 1; round <= 3; round += 1) {
      const start = performance.now();
      await bench.expectAnswer(host, method[2], late);
      // The clock of timers and this one may differ by a millisecond.
      expect(performance.now() - start).toBeGreaterThanOrEqual(timeoutMs - 2);
      expect(broken.calls).toBe(round);
    }
    // Three are outstanding: the fourth is not even begun.
    await bench.expectAnswer(host, method[2], { ...statusFor(method, 'source_unavailable'), ...PROMPT });
    expect(broken.calls).toBe(3);
  }
});
