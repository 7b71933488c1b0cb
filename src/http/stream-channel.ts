import type { RouteName } from '../options.ts';
import { type Freshness, freshnessOf, type OnLeave, type Report } from '../read.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import { addTo } from '../values.ts';
import type { AnswerEntry } from './answer-body.ts';
import { messageOf, type StreamClient, unreadBytes } from './stream-client.ts';

/** A part that does not report when it changes is read this often, in milliseconds. */
const BLIND_MS = 1_000;
/** Maximum number of full answers in a row for one cursor, before the other clients get theirs. */
const MOST_ANSWERS = 20;
/** A client with more unread bytes than this does not get several answers in a row. */
const BUSY_BYTES = 65_536;

/** What is streamed at one URL. */
export interface StreamSpec<Since> {
  readonly route: RouteName;
  readonly part: SourcePart | undefined;
  /** Equal for all URLs that differ only in `since`. */
  readonly key: string;
  /** `since` of the URL; `null`: the first message is the plain answer to the request. */
  readonly since: Since | null;
  /** Changes within this many milliseconds are sent in one message. `null`: the interval of all streams. */
  readonly gather: number | null;
  /** Parses the id of a message; `null` when it is not valid. */
  readSince(id: string): Since | null;
  /** Reads the changes after `since`. */
  read(since: Since | null, onLeave?: OnLeave): Awaitable<AnswerEntry>;
}

/** All clients whose URLs differ only in `since`. */
export type StreamChannel = ReturnType<typeof createStreamChannel>;

interface StreamChannelOptions {
  readonly report: Report;
  /** Maximum number of unread bytes in all streams of the process. */
  readonly mostBytes: number;
}

interface ChannelState<Since> {
  readonly spec: StreamSpec<Since>;
  readonly part: SourcePart;
  readonly options: StreamChannelOptions;
  readonly clients: Set<StreamClient>;
  /** Freshness of the part before all clients were last brought up to date. */
  seen: Freshness | null;
  /** When the part was last read, in monotonic milliseconds. */
  readAt: number;
  isBusy: boolean;
  /** Cursor at which a gap was sent, so that it is not sent again until the cursor changes. */
  gapCursor: string;
}

/** Creates a channel without clients. */
export function createStreamChannel<Since>(
  spec: StreamSpec<Since>,
  part: SourcePart,
  options: StreamChannelOptions,
) {
  const state: ChannelState<Since> = {
    spec,
    part,
    options,
    clients: new Set(),
    seen: null,
    readAt: Number.NEGATIVE_INFINITY,
    isBusy: false,
    gapCursor: '',
  };
  return {
    route: spec.route,
    clients: state.clients,
    join(client: StreamClient): void {
      state.clients.add(client);
      // Something may have changed between its first message and now.
      state.seen = null;
    },
    /** Sends the changes, if there are any. Never rejects. */
    advance: () => advance(state),
    /** Ends every stream and asks the clients to reconnect. */
    end: () => endAll(state),
  };
}

async function advance<Since>(state: ChannelState<Since>): Promise<void> {
  if (state.isBusy || state.clients.size === 0) return;
  if (performance.now() - state.readAt < (state.spec.gather ?? 0)) return;
  const now = Date.now();
  const freshness = freshnessOf(state.part, now, state.options.report);
  if (!freshness.ok) return endAll(state);
  if (isUnchanged(state, freshness, now)) return;
  state.isBusy = true;
  state.seen = freshness;
  state.readAt = performance.now();
  try {
    for (const [cursor, group] of groupByCursor(state.clients)) await serve(state, cursor, group);
  } catch {
    // The reader has reported the error to the host.
    endAll(state);
  } finally {
    state.isBusy = false;
  }
}

function isUnchanged<Since>({ seen, readAt }: ChannelState<Since>, latest: Freshness, now: number): boolean {
  if (seen === null) return false;
  if (latest.revision === null) return performance.now() - readAt < BLIND_MS;
  const isSame = latest.revision === seen.revision && latest.outages === seen.outages;
  return isSame && now < seen.changesAt;
}

function groupByCursor(clients: ReadonlySet<StreamClient>): Map<string, StreamClient[]> {
  const groups = new Map<string, StreamClient[]>();
  for (const client of clients) addTo(groups, client.cursor, client);
  return groups;
}

/** Updates clients that have the same cursor, with one answer for all of them. */
async function serve<Since>(
  state: ChannelState<Since>,
  from: string,
  group: readonly StreamClient[],
): Promise<void> {
  const { spec } = state;
  let cursor = from;
  for (let answers = 0; answers < MOST_ANSWERS; answers += 1) {
    const entry = await spec.read(spec.readSince(cursor));
    const { position } = entry.content;
    if (position === undefined) return;
    const isGap = position.gap && state.gapCursor !== cursor;
    // One of several sources has failed or recovered, and the others still answer.
    const isOutage = group.some(({ outages }) => outages !== entry.freshness.outages);
    if (!position.hasChanges && !isGap && !isOutage) {
      // The source may have skipped items that match no filter: it need not read them again.
      for (const client of group) client.cursor = position.cursor;
      return;
    }
    cursor = position.cursor;
    if (position.gap) state.gapCursor = cursor;
    send(state, group, entry, cursor);
    if (!position.isFull) return;
    if (group.some((client) => client.unread() > BUSY_BYTES)) break;
  }
  state.seen = null;
}

function send<Since>(
  { clients, options }: ChannelState<Since>,
  group: readonly StreamClient[],
  entry: AnswerEntry,
  cursor: string,
): void {
  const message = messageOf(entry);
  for (const client of group) {
    // When memory is short, those that have much to read come back later.
    if (unreadBytes() >= options.mostBytes && client.unread() > BUSY_BYTES) client.drop();
    if (client.write(message)) {
      client.cursor = cursor;
      client.outages = entry.freshness.outages;
    } else clients.delete(client);
  }
}

function endAll<Since>({ clients }: ChannelState<Since>): void {
  for (const client of clients) client.end();
  clients.clear();
}
