import { expect } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { faultCase } from './kit/fault-case.ts';

/** What the function of a host may do. */
const BROKEN: readonly (() => unknown)[] = [
  () => new Promise(() => {}),
  () => Promise.reject(new Error('postgres://me:hunter2@db')),
  () => {
    throw 'hunter2';
  },
  () => undefined,
  () => [null, 7, ['hunter2']],
  () => [
    { n: Number.NaN, task: {}, state: 7, time: [], top: 'hunter2', clock: null, name: null, type: null },
  ],
  () => Array.from({ length: 10_000 }, () => ({ n: 1, task: 'x'.repeat(100), state: 'SUCCESS' })),
];

faultCase(93, 'the function that runs statements does not do what it should', async (bench) => {
  for (const answer of BROKEN) {
    const query = () => answer() as readonly object[];
    const sources = celerySources({ broker: 'sqs://', sql: { dialect: 'postgres', query } });
    const host = await bench.serve({ sources });
    await bench.expectAnswer(host, '/api/tasks/', { status: [200, 503] });
    await bench.expectAnswer(host, '/api/tasks/unknown/', { status: [404, 503], aimMs: 1_500 });
    const { body } = await bench.expectAnswer<object>(host, '/api/components/', { status: 200 });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    await bench.expectAnswer(host, '/healthcheck', { status: [200, 503], aimMs: 1_500 });
  }
});
