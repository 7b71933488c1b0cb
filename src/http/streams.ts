/** Push: every open stream of a router (see `docs/api.md`). */

import { MonitorError } from '../errors.ts';
import type { RouteName } from '../options.ts';
import type { Report } from '../read.ts';
import type { SourcePart } from '../source.ts';
import type { Guard } from './authorize.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import { onLeave } from './on-leave.ts';
import { createStreamChannel, type StreamChannel, type StreamSpec } from './stream-channel.ts';
import { createStreamClient, messageOf, type StreamClient } from './stream-client.ts';

/** Milliseconds between things that are done again and again. */
export interface StreamTimes {
  /** How long changes are gathered into one message. */
  readonly gather: number;
  /** Between comments, which show both sides that the connection lives. */
  readonly comment: number;
  /** How often `authorize` is asked again. */
  readonly allowed: number;
}

const TIMES: StreamTimes = { gather: 250, comment: 15_000, allowed: 60_000 };

/** All streams of one router. */
export interface Streams {
  /**
   * Sends the first message and goes on for as long as the client stays.
   *
   * @throws MonitorError `overloaded`, or what the first answer failed with
   */
  open<Since>(
    request: MonitorRequest,
    response: MonitorResponse,
    spec: StreamSpec<Since>,
    since: Since | null,
  ): Promise<void>;
  /** Ends them all, each with a hint to come back. */
  close(): void;
}

export function createStreams(options: {
  /** Most streams at once. */
  readonly most: number;
  readonly guard: Guard;
  readonly report: Report;
  /** Default: those of `docs/api.md`. */
  readonly times?: StreamTimes;
}): Streams {
  const times = options.times ?? TIMES;
  const channels = new Map<string, { readonly route: RouteName; readonly channel: StreamChannel }>();
  let count = 0;
  let timers: NodeJS.Timeout[] = [];
  let isClosed = false;

  function start(): void {
    if (timers.length > 0) return;
    timers = [setInterval(advance, times.gather).unref(), setInterval(lookAfter, times.comment).unref()];
  }

  function stopIfIdle(): void {
    if (count > 0) return;
    for (const timer of timers) clearInterval(timer);
    timers = [];
  }

  function advance(): void {
    for (const [key, { channel }] of channels) {
      if (channel.clients.size === 0) channels.delete(key);
      else void channel.advance();
    }
  }

  function lookAfter(): void {
    const now = performance.now();
    for (const { route, channel } of channels.values()) {
      for (const client of channel.clients) {
        client.comment();
        if (now - client.allowedAt >= times.allowed) void askAgain(client, route, channel);
      }
    }
  }

  /** Who may no longer see this is cut off; coming back, it is told why. */
  async function askAgain(client: StreamClient, route: RouteName, channel: StreamChannel): Promise<void> {
    client.allowedAt = performance.now();
    if ((await options.guard(client.request, route)) === null) return;
    channel.clients.delete(client);
    client.end();
  }

  function channelOf<Since>(spec: StreamSpec<Since>, part: SourcePart): StreamChannel {
    let row = channels.get(spec.key);
    if (row === undefined) {
      row = { route: spec.route, channel: createStreamChannel(spec, part, options.report) };
      channels.set(spec.key, row);
    }
    return row.channel;
  }

  return {
    async open(request, response, spec, since) {
      const { part } = spec;
      if (part === undefined) throw new MonitorError('source_not_configured');
      if (count >= options.most) throw new MonitorError('overloaded', 'Too many streams are open.');
      count += 1;
      let joined: { channel: StreamChannel; client: StreamClient } | null = null;
      const leave = (): void => {
        count -= 1;
        if (joined !== null) joined.channel.clients.delete(joined.client);
        stopIfIdle();
      };
      try {
        const first = await spec.read(since, onLeave(response));
        if (isClosed) throw new MonitorError('overloaded', 'The monitor was closed.');
        const client = createStreamClient(request, response, first);
        client.write(messageOf(first));
        // What a source that is away last said is all that there is.
        if (!first.freshness.ok) {
          client.end();
          return leave();
        }
        joined = { channel: channelOf(spec, part), client };
        joined.channel.join(client);
        start();
      } catch (error) {
        leave();
        throw error;
      }
      if (response.destroyed) leave();
      else response.once('close', leave);
    },
    close() {
      isClosed = true;
      for (const { channel } of channels.values()) channel.end();
      channels.clear();
      for (const timer of timers) clearInterval(timer);
      timers = [];
    },
  };
}
