import { describe, expect, it } from 'vitest';
import type { CelerySourcesOptions } from '../../src/celery.ts';
import { captureLogs } from '../faults/kit/log-capture.ts';
import { holdTime, openArrayDeployment, pass } from './array-deployment.ts';

type CeleryReady = Parameters<NonNullable<CelerySourcesOptions['onReady']>>[0];

const T0 = Date.parse('2026-11-21T03:00:00Z');

function told() {
  const summaries: CeleryReady[] = [];
  holdTime(T0);
  const { hear } = openArrayDeployment({ onReady: (summary) => void summaries.push(summary) });
  return { summaries, hear };
}

const beat = (hostname: string) => ({
  ...{ type: 'worker-heartbeat', hostname, utcoffset: 0, pid: 1, clock: 1, freq: 2, active: 0, processed: 0 },
  timestamp: Date.now() / 1000,
});

describe('onReady', () => {
  it('is called once, when everything is connected and the workers have been heard', async () => {
    const { summaries, hear } = told();
    hear(beat('w1@h'), beat('w2@h'));
    const task = {
      hostname: 'w2@h',
      utcoffset: 0,
      pid: 1,
      clock: 2,
      timestamp: Date.now() / 1000,
      uuid: 'a',
    };
    hear({ ...task, type: 'task-received', name: 'shop.add', args: '()', kwargs: '{}', retries: 0 });
    await pass(2_000);
    expect(summaries).toEqual([]);
    await pass(2_000);
    expect(summaries).toEqual([{ source: 'celery', workers: 2, reporting: 1 }]);
    await pass(60_000);
    expect(summaries).toHaveLength(1);
  });

  it('has one line of debug output beside it', async () => {
    const lines = captureLogs();
    told();
    await pass(60_000);
    expect(lines.filter((line) => line.includes('connected'))).toEqual([
      expect.stringContaining('celery: connected; 0 workers, 0 of them have reported tasks'),
    ]);
  });

  it('is called where no worker is heard', async () => {
    const { summaries } = told();
    await pass(4_000);
    expect(summaries).toEqual([{ source: 'celery', workers: 0, reporting: 0 }]);
  });
});
