import type { RouteName } from '../options.ts';
import { type Freshness, freshnessOf, type OnLeave, type Report } from '../read.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import type { AnswerEntry } from './answer-entry.ts';
import { messageOf, type StreamClient } from './stream-client.ts';

/** A part that does not say when it changes is asked this often, in milliseconds. */
const BLIND_MS = 1_000;
/** Full answers in a row for one place; then others get their turn. */
const MOST_ANSWERS = 20;
/** A client with more than this unsent, in bytes, is not sent the next of several answers at once. */
const BUSY_BYTES = 65_536;

/** What is streamed at one URL. */
export interface StreamSpec<Since> {
  readonly route: RouteName;
  readonly part: SourcePart | undefined;
  /** The same for all URLs that differ in where they begin alone. */
  readonly key: string;
  /** Where the URL says to begin; `null`: with the answer to the request itself. */
  readonly since: Since | null;
  /** Reads the id of a message; `null` when it is none. */
  readSince(id: string): Since | null;
  /** What has happened since. */
  read(since: Since | null, onLeave?: OnLeave): Awaitable<AnswerEntry>;
}

/** All clients of one URL, but for where each of them began. */
export interface StreamChannel {
  readonly clients: Set<StreamClient>;
  join(client: StreamClient): void;
  /** Sends what has changed, if anything has. Never rejects. */
  advance(): Promise<void>;
  /** Ends every stream and asks the clients to come back. */
  end(): void;
}

export function createStreamChannel<Since>(
  spec: StreamSpec<Since>,
  part: SourcePart,
  report: Report,
): StreamChannel {
  const clients = new Set<StreamClient>();
  /** What the part said of itself before everybody was last brought up to date. */
  let seen: Freshness | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let isBusy = false;
  /** The place at which a gap was told that nothing has followed yet. */
  let gapTold = '';

  function isQuiet(freshness: Freshness, now: number): boolean {
    if (seen === null) return false;
    if (freshness.revision === null) return performance.now() - readAt < BLIND_MS;
    const isSame = freshness.revision === seen.revision && freshness.outages === seen.outages;
    return isSame && now < seen.changesAt;
  }

  function send(group: readonly StreamClient[], entry: AnswerEntry, cursor: string): void {
    const message = messageOf(entry);
    for (const client of group) {
      if (client.write(message)) {
        client.cursor = cursor;
        client.outages = entry.freshness.outages;
      } else clients.delete(client);
    }
  }

  /** Brings clients that stand at one place up to date, with one answer for all of them. */
  async function serve(from: string, group: readonly StreamClient[]): Promise<void> {
    let cursor = from;
    for (let answers = 0; answers < MOST_ANSWERS; answers += 1) {
      const entry = await spec.read(spec.readSince(cursor));
      const { place } = entry.draft;
      if (place === undefined) return;
      const isGap = place.gap && gapTold !== cursor;
      // Of several sources one has gone or come back, and the others go on.
      const isOutage = group.some(({ outages }) => outages !== entry.freshness.outages);
      if (!place.isNews && !isGap && !isOutage) {
        // A source may have passed what matches no filter: it need not do so again.
        for (const client of group) client.cursor = place.cursor;
        return;
      }
      cursor = place.cursor;
      if (place.gap) gapTold = cursor;
      send(group, entry, cursor);
      if (!place.isFull) return;
      if (group.some((client) => client.unsent() > BUSY_BYTES)) break;
    }
    seen = null;
  }

  function groups(): Map<string, StreamClient[]> {
    const found = new Map<string, StreamClient[]>();
    for (const client of clients) {
      const group = found.get(client.cursor);
      if (group === undefined) found.set(client.cursor, [client]);
      else group.push(client);
    }
    return found;
  }

  function end(): void {
    for (const client of clients) client.end();
    clients.clear();
  }

  return {
    clients,
    join(client) {
      clients.add(client);
      // It may have missed something between its first message and now.
      seen = null;
    },
    async advance() {
      if (isBusy || clients.size === 0) return;
      const now = Date.now();
      const freshness = freshnessOf(part, now, report);
      if (!freshness.ok) return end();
      if (isQuiet(freshness, now)) return;
      isBusy = true;
      seen = freshness;
      readAt = performance.now();
      try {
        for (const [cursor, group] of groups()) await serve(cursor, group);
      } catch {
        // The reader has told the host.
        end();
      } finally {
        isBusy = false;
      }
    },
    end,
  };
}
