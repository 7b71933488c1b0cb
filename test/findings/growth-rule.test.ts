import { describe, expect, it } from 'vitest';
import { queueGrowing } from '../../src/findings/rules/queue-growing.ts';
import { activity, ago, judge, source } from './situations.ts';

const CLEAR = { findings: [], unknown: null };

describe('queue_growing', () => {
  const growing = async (minutes: number) => ({
    ...(await activity({})),
    growing: [{ queue: 'mail', since: ago(minutes), from: 4, waiting: 3_000 }],
  });

  it('finds a queue that grows for a quarter of an hour, critical after an hour', async () => {
    const found = judge(queueGrowing, source({ activity: await growing(25) }));
    expect(found).toMatchObject({
      unknown: null,
      findings: [
        {
          ...{ severity: 'warning', since: ago(25), subject: 'mail' },
          summary: 'Queue mail has been growing for 25 min: 4 to 3,000 tasks waiting',
          evidence: { waiting: 3_000, waiting_before: 4 },
        },
      ],
    });
    expect(judge(queueGrowing, source({ activity: await growing(60) }))?.findings).toMatchObject([
      { severity: 'critical' },
    ]);
  });

  it('finds nothing in a queue that grows for a short time, and does not know what nobody records', async () => {
    expect(judge(queueGrowing, source({ activity: await growing(14) }))).toEqual(CLEAR);
    const { growing: _none, ...without } = await growing(25);
    expect(judge(queueGrowing, source({ activity: without }))?.unknown).toMatch(
      /does not record queue depths/,
    );
  });
});
