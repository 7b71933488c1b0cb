/** Push: every open stream of a router (see `docs/api.md`). */
import { MonitorError } from '../errors.ts';
import type { Report } from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { Guard } from './authorize.ts';
import {
  acceptsType,
  addVary,
  isGone,
  type MonitorRequest,
  type MonitorResponse,
  onLeave,
  type Respond,
} from './exchange.ts';
import { createStreamChannel, type StreamChannel, type StreamSpec } from './stream-channel.ts';
import { createStreamClient, messageOf, type StreamClient, unreadBytes } from './stream-client.ts';

/** Intervals of the periodic work, in milliseconds. */
const TIMES = {
  /** How long changes are collected into one message. */
  gather: 250,
  /** Between comments, which show both sides that the connection is alive. */
  comment: 15_000,
  /** How often `authorize` is called again for an open stream. */
  allowed: 60_000,
  /** After this time, a client that reads nothing of what there is to read is disconnected. */
  stalled: 60_000,
  /**
   * Shortest time after which a stream ends, so that its client reconnects and passes the host's guards with its
   * current credentials. The longest time is one and a half times as long.
   */
  life: 600_000,
};

/** The golden ratio: it spreads the ends of streams that were opened together evenly. */
const SPREAD = 0.618;

const TOO_MANY = new MonitorError('overloaded', 'Too many streams are open.');

/** All streams of one router. */
export type Streams = ReturnType<typeof createStreams>;

interface StreamsOptions {
  /** Maximum number of open streams. */
  readonly most: number;
  /** Maximum number of unread bytes in all streams of the process. */
  readonly mostBytes: number;
  readonly guard: Guard;
  readonly report: Report;
}

/** A request for a stream. */
interface Visit {
  /** `null` while it waits for its first message. */
  client: StreamClient | null;
  channel: StreamChannel | null;
}

interface StreamsState {
  readonly options: StreamsOptions;
  readonly channels: Map<string, StreamChannel>;
  /** Open streams, including those that still wait for their first message. */
  readonly visits: Set<Visit>;
  /** Number of streams opened so far. */
  opened: number;
  /** Empty while no stream is open. */
  timers: NodeJS.Timeout[];
  isClosed: boolean;
}

/** Creates the streams of one router; none is open yet. */
export function createStreams(options: StreamsOptions) {
  const state: StreamsState = {
    options,
    channels: new Map(),
    visits: new Set(),
    opened: 0,
    timers: [],
    isClosed: false,
  };
  return {
    /**
     * Sends the first message, and later ones while the client is connected.
     *
     * @throws MonitorError `overloaded`, or the error of the first read
     */
    open: <Since>(
      request: MonitorRequest,
      response: MonitorResponse,
      spec: StreamSpec<Since>,
      since: Since | null,
    ): Promise<void> => openStream(state, request, response, spec, since),
    /** Number of open streams. */
    count: () => state.visits.size,
    /** Ends all streams, each with the hint to reconnect. */
    close: () => closeAll(state),
  };
}

async function openStream<Since>(
  state: StreamsState,
  request: MonitorRequest,
  response: MonitorResponse,
  spec: StreamSpec<Since>,
  since: Since | null,
): Promise<void> {
  const { part } = spec;
  if (part === undefined) throw new MonitorError('source_not_configured');
  const { most, mostBytes } = state.options;
  if (state.visits.size >= most || unreadBytes() >= mostBytes) throw TOO_MANY;
  const visit: Visit = { client: null, channel: null };
  state.visits.add(visit);
  const leave = (): void => endVisit(state, visit);
  const stay = onLeave(response)(leave);
  try {
    const first = await spec.read(since, onLeave(response));
    if (state.isClosed) throw new MonitorError('overloaded', 'The monitor was closed.');
    if (isGone(response)) return;
    const message = messageOf(first);
    // Others may have got large messages meanwhile. One that others read already takes no more memory.
    if (message.readers === 0 && unreadBytes() >= mostBytes) throw TOO_MANY;
    visit.client = createStreamClient(request, response, first, performance.now() + nextLife(state));
    start(state);
    visit.client.write(message);
    // While the source is unavailable, only its last data can be sent.
    if (!first.freshness.ok) return visit.client.end();
    visit.channel = channelOf(state, spec, part);
    visit.channel.join(visit.client);
  } catch (error) {
    stay();
    leave();
    throw error;
  }
}

function endVisit(state: StreamsState, visit: Visit): void {
  const { client, channel } = visit;
  state.visits.delete(visit);
  if (client !== null) channel?.clients.delete(client);
  if (state.visits.size === 0) stop(state);
}

function nextLife(state: StreamsState): number {
  state.opened += 1;
  return TIMES.life * (1 + ((state.opened * SPREAD) % 1) / 2);
}

function channelOf<Since>(
  { channels, options }: StreamsState,
  spec: StreamSpec<Since>,
  part: SourcePart,
): StreamChannel {
  const channel = channels.get(spec.key) ?? createStreamChannel(spec, part, options);
  channels.set(spec.key, channel);
  return channel;
}

function start(state: StreamsState): void {
  if (state.timers.length > 0) return;
  state.timers = [
    setInterval(() => advance(state), TIMES.gather).unref(),
    setInterval(() => checkClients(state), TIMES.comment).unref(),
  ];
}

function stop(state: StreamsState): void {
  for (const timer of state.timers) clearInterval(timer);
  state.timers = [];
}

function advance({ channels }: StreamsState): void {
  for (const [key, channel] of channels) {
    if (channel.clients.size === 0) channels.delete(key);
    else void channel.advance();
  }
}

/**
 * Sends every client a comment, or ends its stream when it is too old. Disconnects clients that do not read. Calls
 * `authorize` again when it is due.
 */
function checkClients(state: StreamsState): void {
  const now = performance.now();
  for (const { client } of state.visits) client?.dropAfter(TIMES.stalled);
  for (const channel of state.channels.values()) {
    for (const client of channel.clients) {
      if (now >= client.endsAt) {
        endStream(channel, client);
        continue;
      }
      client.comment();
      if (now - client.allowedAt >= TIMES.allowed) void authorizeAgain(state, client, channel);
    }
  }
}

/** Ends the stream of a client that is no longer authorized; when it reconnects, the answer says why. */
async function authorizeAgain(
  { options }: StreamsState,
  client: StreamClient,
  channel: StreamChannel,
): Promise<void> {
  client.allowedAt = performance.now();
  if ((await options.guard(client.request, channel.route)) === null) return;
  endStream(channel, client);
}

function endStream(channel: StreamChannel, client: StreamClient): void {
  channel.clients.delete(client);
  client.end();
}

function closeAll(state: StreamsState): void {
  state.isClosed = true;
  for (const channel of state.channels.values()) channel.end();
  state.channels.clear();
}

/** Answers one URL as JSON, or as a stream of changes (Server-Sent Events) to a client that accepts one. */
export function streamable<Since>(streams: Streams, respond: Respond, spec: StreamSpec<Since>): Respond {
  return (request, response) => {
    addVary(response, 'Accept');
    if (request.method === 'HEAD' || !acceptsType(request, 'text/event-stream'))
      return respond(request, response);
    return streams.open(request, response, spec, lastEventId(request, spec) ?? spec.since);
  };
}

/** Where a client that reconnects continues (HTML Standard, 9.2.4 "The `Last-Event-ID` header"). */
function lastEventId<Since>({ headers }: MonitorRequest, spec: StreamSpec<Since>): Since | null {
  const id = headers['last-event-id'];
  if (typeof id !== 'string' || id === '') return null;
  const since = spec.readSince(id);
  if (since !== null) return since;
  throw new MonitorError('invalid_parameter', 'The header Last-Event-ID is not an id of this stream.', [
    { parameter: 'Last-Event-ID', detail: 'Send the id of the last message, unchanged, or omit it.' },
  ]);
}
