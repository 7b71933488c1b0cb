import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { ConnectionState } from '../../src/sources/celery/connection-state.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { createResults, type Results } from '../../src/sources/celery/results/results.ts';
import { createArrayResultBackend } from './array-result-backend.ts';

const DOWN: ConnectionState = { up: false, asOf: null, since: null, reconnects: 0, problem: null };

describe('reading what is stored', () => {
  let history: History;
  let results: Results;
  let state: ConnectionState;

  beforeEach(() => {
    vi.useFakeTimers();
    history = createMemoryHistory();
    state = DOWN;
    const { stored } = createArrayResultBackend({ published: [], tasks: [], groups: [] });
    const published = { state: () => state };
    const lineage = createLineage(history);
    results = createResults({ stored, published, settings: {}, history, lineage, valueLength: 1_000 });
    results.start();
  });

  afterEach(() => {
    results.stop();
    history.close();
    vi.useRealTimers();
  });

  const beganAt = async (ms: number): Promise<boolean> => {
    await vi.advanceTimersByTimeAsync(ms);
    return results.progress().since !== null;
  };

  it('begins when published results are heard, so that none is missed in between', async () => {
    expect(await beganAt(1_000)).toBe(false);
    state = { ...DOWN, up: true };
    results.onListening();
    expect(await beganAt(0)).toBe(true);
  });

  it('begins without them when they cannot be heard, and once more when they are', async () => {
    state = { ...DOWN, problem: { code: 'NOPERM', sentence: 'No.' } as ConnectionState['problem'] };
    expect(await beganAt(100)).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    const { since } = results.progress();
    results.onListening();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(results.progress().since).not.toEqual(since);
  });

  it('begins without them when the first attempt does not end', async () => {
    expect(await beganAt(4_900)).toBe(false);
    expect(await beganAt(200)).toBe(true);
  });
});
