import { describe, expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { holdTime, openArrayDeployment, pass, waitingMessage } from './array-deployment.ts';
import { answered } from './hints-deployment.ts';

const START = Date.parse('2026-11-21T03:00:00Z');

/** A deployment whose queues are read at moments that a test chooses. */
function deployment() {
  holdTime(START);
  const array = openArrayDeployment({ control: false });
  return {
    ...array,
    /** What waits by queue, as findings and the page's first view read it. */
    async groups() {
      await pass(11_000);
      return (await answered(array.sources.experimental.getActivity(context))).open.waiting;
    },
  };
}

describe('what waits in a queue', () => {
  it('waits since it was sent, and otherwise at least since it was first read', async () => {
    const { waiting, hear, groups } = deployment();
    waiting.push({ queue: 'mail', raw: waitingMessage('1') });
    const [first] = await groups();
    expect(first).toMatchObject({ queue: 'mail', count: 1, states: ['PENDING'], examples: ['1'] });
    const readAt = first?.since ?? 0;
    expect(readAt).toBeGreaterThanOrEqual(START);
    waiting.push({ queue: 'mail', raw: waitingMessage('2') });
    expect(await groups()).toMatchObject([{ queue: 'mail', count: 2, since: readAt, examples: ['1', '2'] }]);
    const timestamp = START / 1000 - 90;
    hear({ type: 'task-sent', uuid: '2', hostname: 'gen1@shop', timestamp, utcoffset: 0, name: 'shop.add' });
    expect(await groups()).toMatchObject([{ queue: 'mail', count: 2, since: START - 90_000 }]);
  });

  it('does not wait before its eta, nor where it cannot be read', async () => {
    const { waiting, groups } = deployment();
    const at = (ms: number): string => new Date(START + ms).toISOString();
    waiting.push(
      { queue: 'mail', raw: waitingMessage('later', { eta: at(3_600_000) }) },
      { queue: 'mail', raw: waitingMessage('due', { eta: at(5_000) }) },
      { queue: 'mail', raw: 'unreadable' },
    );
    expect(await groups()).toMatchObject([{ count: 1, since: START + 5_000, examples: ['due'] }]);
  });

  it('is counted queue by queue, with three examples of each', async () => {
    const { waiting, groups } = deployment();
    for (const id of ['1', '2', '3', '4']) waiting.push({ queue: 'mail', raw: waitingMessage(id) });
    waiting.push({ queue: 'other', raw: waitingMessage('5') });
    expect(await groups()).toMatchObject([
      { queue: 'mail', count: 4, examples: ['1', '2', '3'] },
      { queue: 'other', count: 1, examples: ['5'] },
    ]);
  });
});
