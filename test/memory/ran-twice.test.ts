/** A host's own queue that runs a task twice, and one that retries it. */
import { describe, expect, it } from 'vitest';
import { type MemoryRecord, memorySources } from '../../src/memory.ts';
import { CONTEXT, query } from '../history/telling.ts';

const NOW = Date.now();

describe('a task of a host', () => {
  it('has run twice if two workers ran the same attempt of it, and not if it was retried', async () => {
    const sources = memorySources();
    const run = (id: string, worker: string, from: number, to: number, retries: number): MemoryRecord[] => [
      { id, state: 'RECEIVED', name: 'send', worker, retries, timestamp: NOW - from },
      { id, state: 'STARTED', worker, timestamp: NOW - from },
      { id, state: 'SUCCESS', worker, timestamp: NOW - to },
    ];
    for (const record of [...run('twice', 'w1', 9_000, 5_000, 0), ...run('twice', 'w2', 6_000, 3_000, 0)]) {
      sources.record(record);
    }
    for (const record of run('retried', 'w1', 9_000, 5_000, 0).slice(0, 2)) sources.record(record);
    sources.record({ id: 'retried', state: 'RETRY', worker: 'w1', timestamp: NOW - 7_000 });
    for (const record of run('retried', 'w2', 6_000, 3_000, 1)) sources.record(record);
    const { tasks } = await sources.tasks.listTasks(query({}), CONTEXT);
    expect(Object.fromEntries(tasks.map(({ id, flags }) => [id, flags]))).toEqual({
      twice: ['ran_twice'],
      retried: [],
    });
    await sources.close();
  });
});
