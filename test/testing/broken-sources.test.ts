import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { sourceContract } from '../../src/testing.ts';
import { arraySources } from './array-source.ts';
import { BROKEN } from './broken-sources.ts';

const PARTS = [
  'tasks',
  'tasks.tree',
  'tasks.stats',
  'workers',
  'events',
  'schedules',
  'health',
  'queues',
  'components',
  'history',
] as const;

/** Titles of the cases that a source fails, with what they say. */
async function failures(
  spoil: (typeof BROKEN)[string],
  timeoutMs = 5000,
): Promise<{ title: string; error: unknown }[]> {
  const create = () => {
    const { sources, seed } = arraySources();
    return { sources: spoil(sources), seed };
  };
  const cases = sourceContract({ parts: PARTS, create, timeoutMs });
  const outcomes = await Promise.allSettled(cases.map(({ run }) => run()));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ title: cases[index]?.name ?? '', error: outcome.reason }] : [],
  );
}

describe('the contract suite on a broken source', () => {
  it.each(Object.entries(BROKEN))('finds out that it %s', async (title, spoil) => {
    const found = await failures(spoil, title.startsWith('hangs') ? 200 : undefined);
    expect(found.length).toBeGreaterThan(0);
  });

  it('names the place and what was wrong there', async () => {
    const spoil = BROKEN['gives times as text'];
    const [first] = spoil ? await failures(spoil) : [];
    expect(first?.error).toBeInstanceOf(AssertionError);
    expect(String(first?.error)).toMatch(/listTasks\.tasks\[\d+\]\.started: expected a valid Date, got '20/);
  });
});
