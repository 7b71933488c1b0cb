import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { sourceContract } from '../../src/testing.ts';
import { arraySources } from './array-source.ts';
import { BROKEN } from './broken-sources.ts';
import { ALL_PARTS } from './contract-parts.ts';

/** What the first case says that a source fails; `null` when it keeps all of them. */
async function firstFailure(
  spoil: (typeof BROKEN)[string],
  timeoutMs = 5000,
): Promise<{ error: unknown } | null> {
  const create = () => {
    const { sources, seed } = arraySources();
    return { sources: spoil(sources), seed };
  };
  for (const { run } of sourceContract({ parts: ALL_PARTS, create, timeoutMs })) {
    try {
      await run();
    } catch (error) {
      return { error };
    }
  }
  return null;
}

describe('the contract suite on a broken source', () => {
  it.each(Object.entries(BROKEN))('finds out that it %s', async (title, spoil) => {
    const failure = await firstFailure(spoil, title.startsWith('hangs') ? 200 : undefined);
    expect(failure).not.toBeNull();
  });

  it('names the place and what was wrong there', async () => {
    const spoil = BROKEN['gives times as text'];
    const failure = spoil ? await firstFailure(spoil) : null;
    expect(failure?.error).toBeInstanceOf(AssertionError);
    expect(String(failure?.error)).toMatch(
      /listTasks\.tasks\[\d+\]\.started: expected a valid Date, got '20/,
    );
  });
});
