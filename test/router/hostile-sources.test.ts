import { describe, expect, it, vi } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { HOSTILE, METHODS, sourcesWith, THROWN, WRONG } from './hostile-values.ts';

/** How long an answer may take on a slow machine: ten times what is aimed at. */
const PROMPT_MS = 10_000;

describe.each(EXPRESS_MAJORS)('on $name', (major) => {
  describe.each(METHODS)('a source whose %s.%s is broken', (part, method, path) => {
    /** A host whose source does with each request what it is told. */
    async function hostOf(timeoutMs = 200) {
      const onError = vi.fn();
      const broken: { act: () => unknown } = { act: () => undefined };
      const sources = sourcesWith(part, method, () => broken.act());
      const host = await serve(major, { sources, onError, timeoutMs, health: { reuseMs: 0 } });
      async function ask(act: () => unknown): Promise<number> {
        broken.act = act;
        const start = performance.now();
        const { status, text } = await host.get<ProblemBody>(path);
        expect(performance.now() - start).toBeLessThan(timeoutMs + PROMPT_MS);
        expect(text).not.toContain('secret');
        return status;
      }
      return { ask, onError, ...host };
    }
    const isWhole = path.startsWith('/api/components/');

    it('gets its failures answered in words of ours, whatever it throws or rejects with', async () => {
      const { ask, onError, url } = await hostOf();
      for (const thrown of THROWN) {
        const status = await ask(() => {
          throw thrown;
        });
        expect(status).toBe(isWhole ? 200 : 503);
        expect(await ask(() => Promise.reject(thrown))).toBe(isWhole ? 200 : 503);
      }
      // The others are the like of it.
      expect(onError).toHaveBeenCalledTimes(1);
      expect(onError.mock.calls[0]?.[0]).toBe(THROWN[0]);
      expect(await (await fetch(`${url}/canary`)).text()).toBe('sings');
    });

    it('gets its silence answered at the deadline', async () => {
      const { ask, onError, url } = await hostOf(40);
      expect(await ask(() => new Promise(() => {}))).toBe(isWhole ? 200 : part === 'health' ? 503 : 504);
      expect(onError).toHaveBeenCalledTimes(1);
      expect(await (await fetch(`${url}/canary`)).text()).toBe('sings');
    });

    it('gets data of the wrong type answered with 502', async () => {
      const { ask, onError, url } = await hostOf();
      for (const wrong of WRONG) {
        // An array of what cannot be read is a list of which nothing is left.
        const isList = Array.isArray(wrong) && /^list(?:Workers|Schedules|Components)$/.test(method);
        // What nobody can look at has not arrived.
        const isUnseen = wrong === HOSTILE || part === 'health';
        const isUnknown = wrong === undefined && /^getTask(?:Tree)?$/.test(method);
        const expected = isWhole || isList ? 200 : isUnknown ? 404 : isUnseen ? 503 : 502;
        for (const act of [() => wrong, async () => wrong]) {
          expect([typeof wrong, await ask(act)]).toEqual([typeof wrong, expected]);
        }
      }
      expect(onError).toHaveBeenCalled();
      expect(await (await fetch(`${url}/canary`)).text()).toBe('sings');
    });
  });
});
