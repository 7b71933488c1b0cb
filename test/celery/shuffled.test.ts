/** Recorded traffic in random orders: what is known of each task depends on its messages alone. */
import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { deliverMessage } from '../../src/sources/celery/brokers/redis/events.ts';
import { createIntake } from '../../src/sources/celery/intake.ts';
import { runs, seedOf, unsampled } from '../helpers/cases.ts';
import { context } from '../helpers/celery-events.ts';
import {
  inAnyOrder,
  type Published,
  RECORDINGS,
  type Recording,
  randomOf,
} from '../helpers/celery-recordings.ts';

const ORDERS = runs(100);
const META = 'celery-task-meta-';

/** Nobody else looks at what comes in. */
const NOBODY = {
  changed() {},
  stored() {},
  saved() {},
  sized() {},
  worker() {},
  unreadableEvent() {},
  unreadableResult() {},
};

/** What is known of every task after these messages. */
async function knownAfter(
  recording: Recording,
  messages: readonly Published[],
): Promise<Map<string, TaskDetail | null>> {
  const last = recording.messages.at(-1)?.t ?? 0;
  const history = createMemoryHistory({ now: () => (last + 60) * 1000 });
  const intake = createIntake(history.writer, NOBODY, 64 * 1024);
  for (const { channel, message } of messages) {
    if (channel.startsWith(META)) intake.takeResult(message, channel.slice(META.length));
    else if (!channel.includes('pidbox') && !channel.includes('-meta-'))
      deliverMessage(message, intake.events);
  }
  const known = new Map<string, TaskDetail | null>();
  for (const { id } of recording.tasks) {
    const task = (await history.reader.getTask(id, context)) ?? null;
    // Children are a set.
    known.set(id, task && { ...task, children: task.children?.toSorted() ?? [] });
  }
  history.close();
  return known;
}

/** Any order in which the results of each task, which Redis publishes over one channel, keep theirs. */
function shuffled(messages: readonly Published[], random: () => number): Published[] {
  const out = inAnyOrder(messages, random);
  const results = new Map<string, Published[]>();
  for (const published of messages) {
    if (published.channel.startsWith(META))
      results.set(published.channel, [...(results.get(published.channel) ?? []), published]);
  }
  return out.map((published) => results.get(published.channel)?.shift() ?? published);
}

describe.each(RECORDINGS)('the tasks of recorded run $name', (recording) => {
  it('are the same in every order of arrival', async () => {
    const random = randomOf(seedOf(recording.database + 1));
    const expected = await knownAfter(recording, recording.messages);
    for (let order = 0; order < ORDERS; order++) {
      expect(await knownAfter(recording, shuffled(recording.messages, random))).toEqual(expected);
    }
  }, 120_000);

  unsampled(() => {
    it('have timelines whose changes are oldest first', async () => {
      for (const task of (await knownAfter(recording, recording.messages)).values()) {
        const times = (task?.timeline ?? []).flatMap(({ timestamp }) => timestamp?.getTime() ?? []);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        const states = task?.timeline?.map(({ state }) => state) ?? [];
        const end = states.findIndex((state) => state === 'SUCCESS' || state === 'FAILURE');
        expect(end === -1 ? [] : states.slice(end + 1)).toEqual([]);
      }
    });
  });
});
