/** Follows the streams of a monitor as clients do: a stream that ends is opened again behind its last message. */
import { createMonitorClient, type GraphState } from '../../src/client.ts';
import type { EventsBody } from '../../src/wire.ts';
import type { MonitorProcess } from '../helpers/monitor-process.ts';

/** A message of a stream, and when it came, by the clock of the process. */
export interface StreamMessage<Body> {
  readonly at: number;
  readonly body: Body;
}

/** A stream that is followed. */
export interface FollowedStream<Body> {
  /** What was received so far. */
  readonly messages: readonly StreamMessage<Body>[];
  end(): Promise<void>;
}

/** Follows the feed. */
export function followEvents({ url }: MonitorProcess): FollowedStream<EventsBody> {
  return follow((signal) =>
    createMonitorClient(url).watchEvents({ limit: 1_000 }, { signal, pollMs: NO_POLL_MS }),
  );
}

/** Follows the workflow of a task. */
export function followGraph({ url }: MonitorProcess, id: string): FollowedStream<GraphState> {
  return follow((signal) => createMonitorClient(url).watchGraph(id, {}, { signal, pollMs: NO_POLL_MS }));
}

/** Where no stream gets through, nothing more is received. */
const NO_POLL_MS = 1_000_000;

function follow<Body>(watch: (signal: AbortSignal) => AsyncGenerator<Body>): FollowedStream<Body> {
  const controller = new AbortController();
  const messages: StreamMessage<Body>[] = [];
  const following = (async () => {
    for await (const body of watch(controller.signal)) messages.push({ at: performance.now(), body });
  })();
  return {
    messages,
    async end() {
      controller.abort();
      await following;
    },
  };
}

/** What came over a stream of the feed. */
export interface FeedFindings {
  readonly items: number;
  /** Messages behind the first one that report a gap. */
  readonly gaps: number;
  readonly repeated: readonly string[];
  /** Items that followed others of the same instance without those between them, as `from → to`. */
  readonly missing: readonly string[];
}

/** Looks whether the items that each instance has heard came one after the other, each once. */
export function findingsOf(messages: readonly StreamMessage<EventsBody>[]): FeedFindings {
  const bodies = messages.map(({ body }) => body);
  const seen = new Set<string>();
  const last = new Map<string, number>();
  const repeated: string[] = [];
  const missing: string[] = [];
  for (const { id } of bodies.flatMap(({ events }) => events.toReversed())) {
    if (seen.has(id)) repeated.push(id);
    seen.add(id);
    const [instance = '', number = ''] = id.split('.');
    const before = last.get(instance);
    if (before !== undefined && Number(number) !== before + 1) {
      missing.push(`${instance}.${before} → ${number}`);
    }
    last.set(instance, Number(number));
  }
  const gaps = bodies.slice(1).filter(({ gap }) => gap).length;
  return { items: seen.size, gaps, repeated, missing };
}

/** When the leader was killed, and when another instance was connected in its place. */
export interface Takeover {
  readonly killedAt: number;
  readonly overAt: number;
}

/**
 * Looks whether a workflow was seen to go on after each takeover: with more tasks that have ended than before, and not
 * only once all of them had. One message may show several changes, and what happened during a takeover comes at once.
 *
 * @param total how many tasks the workflow has
 * @returns for each takeover, how many tasks had ended before it, and in the messages between it and the next one
 */
export function progressOf(
  messages: readonly StreamMessage<GraphState>[],
  takeovers: readonly Takeover[],
  total: number,
): readonly { readonly before: number; readonly after: readonly number[] }[] {
  const ended = messages.map(({ at, body: { nodes } }) => ({
    at,
    count: nodes.filter(({ state }) => state === 'SUCCESS').length,
  }));
  return takeovers.map(({ killedAt, overAt }, index) => {
    const until = takeovers[index + 1]?.killedAt ?? Number.POSITIVE_INFINITY;
    const after = ended.filter(({ at, count }) => at > overAt && at < until && count < total);
    return {
      before: ended.findLast(({ at }) => at <= killedAt)?.count ?? 0,
      after: after.map(({ count }) => count),
    };
  });
}
