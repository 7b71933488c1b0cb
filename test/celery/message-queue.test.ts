/** What becomes of messages of events when more arrive than one turn of the event loop has time for. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { componentOf, context, eventMessage, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

/** A message as kombu writes it, with an event of each of these tasks. */
function message(...ids: readonly string[]): string {
  const timestamp = Date.now() / 1000;
  const events = ids.map((uuid) => ({ type: 'task-received', uuid, hostname: 'w1@alpha', timestamp }));
  return eventMessage(events).replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** A message that takes several turns. */
const long = (id: string): string => message(...Array.from({ length: 3_000 }, (_, at) => `${id}-${at}`));

/** Four of them may wait, and not five. */
const LARGE = 15 * 1024 * 1024;

const FEED = { limit: 10_000, since: null, states: [], workers: [], tasks: [] };

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'messages that come at once'), () => {
  let redis: RedisServer;
  let sources: CelerySources;
  let hear: (message: string) => void;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis?.close());

  /** The host's own client, which lets the test say what it hears. */
  beforeEach(async () => {
    const broker = createClient({ url: redis.url() });
    const duplicate = broker.duplicate.bind(broker);
    broker.duplicate = ((overrides) => {
      const own = duplicate(overrides);
      const pSubscribe = own.pSubscribe.bind(own);
      own.pSubscribe = (async (patterns: string[], listener: (text: string, channel: string) => void) => {
        hear = (text) => listener(text, '/0.celeryev/task.multi');
        await pSubscribe(patterns, listener);
      }) as typeof own.pSubscribe;
      return own;
    }) as typeof duplicate;
    sources = celerySources({ broker, control: false });
    onTestFinished(() => sources.close());
    await until(() => sources.events.status?.().ok === true);
  });

  const isKnown = async (id: string): Promise<boolean> => (await stateOf(sources, id)) !== null;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('are taken at once while the turn has time', async () => {
    let count = 0;
    // A turn that the machine has interrupted has no time left: a later one has.
    await until(async () => {
      await turn();
      const revisions = [0, 1, 2].map((at) => {
        if (at > 0) hear(message(`short-${++count}`));
        return sources.tasks.status?.().revision;
      });
      return new Set(revisions).size === 3;
    });
  });

  it('keep their order, whatever has to wait', async () => {
    // Whole turns of short messages, of which the last ones wait alone.
    const short = Array.from({ length: 2_000 }, (_, at) => `short-${at}`);
    for (const id of short) hear(message(id));
    await until(() => isKnown('short-1999'));
    for (const text of [message('a'), long('b'), message('c'), long('d'), message('e')]) hear(text);
    await until(() => isKnown('e'));
    const { events } = await sources.events.listEvents(FEED, context);
    const heard = events.map(({ taskId }) => taskId).reverse();
    const numbered = (id: string) => Array.from({ length: 3_000 }, (_, at) => `${id}-${at}`);
    expect(heard).toEqual([...short, 'a', ...numbered('b'), 'c', ...numbered('d'), 'e']);
    expect((await sources.history.getHistoryStats(context)).dropped).toBe(0);
  });

  it('are dropped when too many wait, which the feed and the figures say', async () => {
    const { cursor } = await sources.events.listEvents(FEED, context);
    hear(long('first'));
    for (const id of ['a', 'b', 'c', 'd', 'e']) hear(message(id).padEnd(LARGE));
    await until(() => isKnown('d'));
    // What has been taken makes room.
    hear(long('second'));
    hear(message('after').padEnd(LARGE));
    await until(() => isKnown('after'));
    expect(await isKnown('e')).toBe(false);
    expect((await sources.history.getHistoryStats(context)).dropped).toBe(1);
    const since = { cursor };
    expect(await sources.events.listEvents({ ...FEED, since }, context)).toMatchObject({ gap: true });
  });

  it('are not taken any more once the source is closed', async () => {
    const taken = async () => (await componentOf(sources, 'collector')).config.messages;
    hear(message('a'));
    await until(async () => (await taken()) === 1);
    hear(long('b'));
    hear(message('c'));
    await sources.close();
    hear(message('d'));
    for (let count = 0; count < 500; count += 1) await turn();
    // The long one had been begun, if its turn had time.
    expect(await taken()).toBeLessThanOrEqual(2);
  });
});
