/** Recorded traffic over restarts and several instances: what is kept and taken in again loses nothing. */
import { afterAll, describe, expect, it } from 'vitest';
import { createMemoryHistory, type MemoryHistory } from '../../src/history/memory-history.ts';
import { readKeptTask, writeRecordText } from '../../src/history/stored/record-text.ts';
import type { StoredWorker } from '../../src/history/workers/worker-record.ts';
import type { TaskDetail, TaskRelation } from '../../src/model.ts';
import { deliverMessage } from '../../src/sources/celery/brokers/redis/events.ts';
import { createIntake } from '../../src/sources/celery/intake.ts';
import { context } from '../helpers/celery-events.ts';
import {
  inAnyOrder,
  type Published,
  RECORDINGS,
  type Recording,
  randomOf,
} from '../helpers/celery-recordings.ts';

const ROUNDS = 3;
const META = 'celery-task-meta-';
const NOBODY = {
  ...{ changed() {}, stored() {}, saved() {}, sized() {}, worker() {} },
  ...{ unreadableEvent() {}, unreadableResult() {} },
};

/** One process that hears messages, at the times at which they were published. */
interface Instance {
  readonly history: MemoryHistory;
  hear(messages: readonly Published[]): void;
  readonly hostnames: Set<string>;
  readonly relations: TaskRelation[];
}

function start(recording: Recording): Instance {
  const last = recording.messages.at(-1)?.t ?? 0;
  let now = (last + 60) * 1000;
  const hostnames = new Set<string>();
  const relations: TaskRelation[] = [];
  const history = createMemoryHistory({
    now: () => now,
    tap: {
      ...{ taskChanged() {}, taskDropping() {}, eventAdded() {}, gapFound() {} },
      relationAdded: (relation) => relations.push(relation),
      workerChanged: (hostname) => hostnames.add(hostname),
    },
  });
  const intake = createIntake(history.writer, NOBODY, 64 * 1024);
  return {
    history,
    hostnames,
    relations,
    hear(messages) {
      for (const { t, channel, message } of messages) {
        now = t * 1000;
        if (isResult({ channel })) intake.takeResult(message, channel.slice(META.length));
        else if (!channel.includes('pidbox') && !channel.includes('-meta-'))
          deliverMessage(message, intake.events);
      }
      now = (last + 60) * 1000;
      history.access.catchUp();
    },
  };
}

/** What a process knows, through text and back, in any order. */
function absorb({ history }: Instance, from: Instance, ids: readonly string[], random: () => number): void {
  const { access } = history;
  for (const id of inAnyOrder(ids, random)) {
    const kept = from.history.access.readTask(id);
    if (kept === null) continue;
    const read = readKeptTask({
      id,
      ...writeRecordText(kept.record, kept.cause ?? null),
      rootId: kept.rootId,
    });
    if (read === null) throw new Error('cannot read what was written');
    expect(read.record).toEqual(kept.record);
    access.absorbTask(read, Date.now());
  }
  for (const hostname of from.hostnames) {
    const worker = from.history.access.readWorker(hostname);
    if (worker !== null) access.absorbWorker(JSON.parse(JSON.stringify(worker)) as StoredWorker);
  }
  for (const relation of from.relations) access.absorbRelation(relation);
}

async function known({ history }: Instance, ids: readonly string[]): Promise<Map<string, TaskDetail | null>> {
  const tasks = new Map<string, TaskDetail | null>();
  for (const id of ids) {
    const task = (await history.reader.getTask(id, context)) ?? null;
    tasks.set(id, task && { ...task, children: task.children?.toSorted() ?? [] });
  }
  return tasks;
}

describe.each(RECORDINGS)('the tasks of recorded run $name', (recording) => {
  const { messages } = recording;
  const ids = recording.tasks.map(({ id }) => id);

  const one = start(recording);
  one.hear(messages);
  afterAll(() => one.history.close());

  async function expectWhole(instance: Instance): Promise<void> {
    expect(await known(instance, ids)).toEqual(await known(one, ids));
    instance.history.close();
  }

  it.each([true, false])(
    'are the same after a restart at any message (loaded first: %s)',
    async (isFirst) => {
      const random = randomOf(recording.database + 7);
      for (let round = 0; round < ROUNDS; round++) {
        const cut = Math.floor(random() * messages.length);
        const before = start(recording);
        before.hear(messages.slice(0, cut));
        const after = start(recording);
        // Events may come twice. Redis publishes each result once.
        const again = messages.slice(0, cut).filter((published) => !isResult(published) && random() < 0.2);
        const rest = [...messages.slice(cut), ...again];
        if (isFirst) absorb(after, before, ids, random);
        after.hear(inOrderOfResults(rest, random));
        if (!isFirst) absorb(after, before, ids, random);
        before.history.close();
        await expectWhole(after);
      }
    },
    120_000,
  );

  it('are the same where two instances have heard parts of everything', async () => {
    const random = randomOf(recording.database + 9);
    for (let round = 0; round < ROUNDS; round++) {
      const [first, other] = [start(recording), start(recording)];
      // Each event by one or both. Of the results, which have neither number nor time, one heard the first, and the
      // other one those from some time before that.
      const to = Math.floor(random() * messages.length);
      const from = Math.floor(random() * to);
      const heardBy = messages.map(() => Math.floor(random() * 3));
      first.hear(messages.filter((message, at) => (isResult(message) ? at < to : heardBy[at] !== 0)));
      other.hear(messages.filter((message, at) => (isResult(message) ? at >= from : heardBy[at] !== 1)));
      absorb(first, other, ids, random);
      absorb(other, first, ids, random);
      await expectWhole(first);
      await expectWhole(other);
    }
  }, 120_000);
});

function isResult({ channel }: Pick<Published, 'channel'>): boolean {
  return channel.startsWith(META);
}

/** Any order in which the results of each task, which Redis publishes over one channel, keep theirs. */
function inOrderOfResults(messages: readonly Published[], random: () => number): Published[] {
  const results = new Map<string, Published[]>();
  for (const published of messages) {
    if (isResult(published))
      results.set(published.channel, [...(results.get(published.channel) ?? []), published]);
  }
  return inAnyOrder(messages, random).map(
    (published) => results.get(published.channel)?.shift() ?? published,
  );
}
