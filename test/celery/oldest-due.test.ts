import { describe, expect, it } from 'vitest';
import type { WaitingMessage } from '../../src/sources/celery/broker.ts';
import { waitingGroups } from '../../src/sources/celery/queues/oldest-due.ts';

const NOW = 1_000_000;

function message(
  id: string,
  fields: Partial<WaitingMessage> & { readonly eta?: number } = {},
): WaitingMessage {
  const { eta = null, ...rest } = fields;
  return {
    ...{ tag: id, part: 'mail\0' + '00', takenAt: null, relations: [], bytes: 0, seenAt: NOW - 60_000 },
    facts: { id, eta },
    ...rest,
  };
}

describe('what waits in a queue', () => {
  const unknown = () => null;

  it('waits since it was sent, and otherwise at least since it was first read', () => {
    const messages = [message('1'), message('2', { seenAt: NOW - 5 })];
    const group = { queue: 'mail', count: 2, states: ['PENDING'], examples: ['1', '2'] };
    expect(waitingGroups(messages, unknown, NOW)).toEqual([{ ...group, since: NOW - 60_000 }]);
    const sentAt = (id: string) => (id === '2' ? NOW - 90_000 : null);
    expect(waitingGroups(messages, sentAt, NOW)).toEqual([{ ...group, since: NOW - 90_000 }]);
  });

  it('does not wait before its eta, nor once a worker has taken it', () => {
    const messages = [
      message('later', { eta: NOW + 1 }),
      message('due', { eta: NOW - 10 }),
      message('taken', { takenAt: NOW }),
      message('unreadable', { facts: null }),
    ];
    expect(waitingGroups(messages, unknown, NOW)).toMatchObject([
      { count: 1, since: NOW - 10, examples: ['due'] },
    ]);
  });

  it('waits in the queue of its part, whatever its priority', () => {
    const messages = [
      message('1'),
      message('2', { part: 'mail\0' + '03' }),
      message('3', { part: 'other\0' + '00' }),
    ];
    expect(waitingGroups(messages, unknown, NOW)).toMatchObject([
      { queue: 'mail', count: 2 },
      { queue: 'other', count: 1 },
    ]);
  });
});
