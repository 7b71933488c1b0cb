/** Looks where else events and results might be, while none come where this source listens. */

import { createRedisReader } from '../../../redis/connection-reader.ts';
import type { RedisEndpoint } from '../../../redis/endpoint.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import { resultSubscription } from '../brokers/redis/channels.ts';
import type { HintOptions } from './facts.ts';
import { EVENT_PATTERNS, type Findings, NO_FINDINGS, RESULT_PART } from './findings.ts';
import { type HintInput, resultsSeen, upFor } from './input.ts';
import { findBroker, findDatabase, findResults } from './probe-keys.ts';
import { listenTo } from './probe-listen.ts';

/** All in milliseconds. */
export interface ProbeTimes {
  /** How often it is asked whether to look. */
  readonly tick: number;
  /** How long nothing must have come. */
  readonly quiet: number;
  /** How long to listen elsewhere: heartbeats come every two seconds. */
  readonly listen: number;
  /** The pause before looking again; it doubles each time, up to the longest. */
  readonly pause: number;
  readonly longestPause: number;
}

const TIMES: ProbeTimes = { tick: 1000, quiet: 10_000, listen: 8000, pause: 60_000, longestPause: 900_000 };

/** Looks by itself, when there is reason to. */
export interface Probe {
  findings(): Findings;
  /** Ends what is under way. Resolves within about a second. */
  close(): Promise<void>;
}

/** What is known without looking. */
export type KnownInput = Omit<HintInput, 'findings'>;

/** One kind of looking. */
interface Look {
  /** Whether there is reason to look. */
  readonly isWanted: (input: KnownInput) => boolean;
  /** Whether what was found, if anything, is refuted by what came since. */
  readonly isRefuted: (input: KnownInput) => boolean;
  /** What it finds; nothing when it rejects. */
  readonly run: (input: KnownInput) => Promise<Partial<Findings>>;
  /** What is known when nothing was found. */
  readonly nothing: Partial<Findings>;
}

/** @param known what is known now */
export function createProbe(options: HintOptions, known: () => KnownInput, times = TIMES): Probe {
  const closing = new AbortController();
  const looks = looksOf(options, times, closing.signal).map((look) => ({
    ...look,
    nextAt: 0,
    pause: times.pause,
    running: null as Promise<void> | null,
  }));
  let findings = NO_FINDINGS;

  async function run(look: (typeof looks)[number], input: KnownInput): Promise<void> {
    const found = await look.run(input).catch(() => ({}));
    findings = { ...findings, ...found };
    look.nextAt = Date.now() + look.pause;
    look.pause = Math.min(look.pause * 2, times.longestPause);
    look.running = null;
  }

  function tick(): void {
    const input = known();
    for (const look of looks) {
      if (look.isRefuted(input)) {
        findings = { ...findings, ...look.nothing };
        look.pause = times.pause;
      }
      if (look.running === null && input.now >= look.nextAt && look.isWanted(input)) {
        look.running = run(look, input);
      }
    }
  }

  const ticker = setInterval(tick, times.tick).unref();
  return {
    findings: () => findings,
    async close() {
      clearInterval(ticker);
      closing.abort();
      await Promise.all(looks.map(({ running }) => running));
    },
  };
}

function looksOf({ broker, backend, settings }: HintOptions, times: ProbeTimes, signal: AbortSignal): Look[] {
  const looks: Look[] = [];
  if (broker !== null) looks.push(eventsLook(broker));
  if (backend !== null) looks.push(resultsLook(backend), databaseLook(backend));
  return looks;

  function eventsLook(endpoint: RedisEndpoint): Look {
    const prefix = settings.broker_transport_options?.global_keyprefix ?? '';
    return {
      isWanted: (input) => eventsAreQuiet(input, times.quiet),
      isRefuted: ({ facts }) => facts.events > 0,
      nothing: { events: null },
      async run() {
        const [{ channels, isForbidden }, keys] = await Promise.all([
          listenTo(endpoint.open, EVENT_PATTERNS, withoutType, times.listen, signal),
          withReader(endpoint, (reader) => findBroker(reader, endpoint, prefix, signal)),
        ]);
        const { isAtHome, prefixes, databases } = keys ?? { isAtHome: false, prefixes: [], databases: [] };
        return { events: { channels, isForbidden, isAtHome, prefixes, databases } };
      },
    };
  }

  function resultsLook(endpoint: RedisEndpoint): Look {
    const own = resultSubscription(settings).prefix.slice(0, -RESULT_PART.length);
    return {
      isWanted: (input) => resultsAreQuiet(input, times.quiet),
      isRefuted: ({ facts }) => resultsSeen(facts) > 0,
      nothing: { results: null },
      async run() {
        const [heard, keys] = await Promise.all([
          listenTo(endpoint.open, [`*${RESULT_PART}*`], resultPrefix, times.listen, signal),
          withReader(endpoint, (reader) => findResults(reader, own, signal)),
        ]);
        const { isAtHome, prefixes } = keys ?? { isAtHome: false, prefixes: [] };
        const all = new Set([...heard.channels.filter((other) => other !== own), ...prefixes]);
        return { results: { isAtHome, prefixes: [...all].toSorted() } };
      },
    };
  }

  /** Channels are the same for all databases, so what is heard need not be stored where we read. */
  function databaseLook(endpoint: RedisEndpoint): Look {
    let provenSince: number | null = null;
    return {
      isWanted: ({ facts, backend: state }) =>
        facts.results.lastId !== null && state?.up === true && provenSince !== state.since,
      isRefuted: () => false,
      nothing: {},
      async run({ facts, backend: state }) {
        const key = `${resultSubscription(settings).prefix}${facts.results.lastId ?? ''}`;
        const found = await withReader(endpoint, (reader) => findDatabase(reader, endpoint, key, signal));
        // Its client may have removed it at once: that tells nothing.
        if (found === undefined || found === null) return {};
        if (found !== endpoint.database) return { storedIn: found };
        provenSince = state?.since ?? null;
        return { storedIn: null };
      },
    };
  }
}

function eventsAreQuiet({ facts, broker, now }: KnownInput, quiet: number): boolean {
  return facts.events === 0 && upFor(broker, now) >= quiet;
}

/** None has come though tasks have ended, or nothing at all has come. */
function resultsAreQuiet(input: KnownInput, quiet: number): boolean {
  const { facts, backend, now } = input;
  if (resultsSeen(facts) > 0 || upFor(backend, now) < quiet) return false;
  const hasFinished = facts.firstFinished !== null && now - facts.firstFinished >= quiet;
  return hasFinished || eventsAreQuiet(input, quiet);
}

/** What the look has found; `undefined` when Redis would not tell. */
async function withReader<T>(
  endpoint: RedisEndpoint,
  look: (reader: RedisReader) => Promise<T>,
): Promise<T | undefined> {
  const reader = createRedisReader('probe', endpoint);
  try {
    return await look(reader);
  } catch {
    return undefined;
  } finally {
    await reader.close();
  }
}

/** One name for all types of events that come on channels of their own. */
function withoutType(channel: string): string | null {
  return channel.length > 300 ? null : channel.replace(/\/(?:worker|task)\.[^/]*$/, '/task.multi');
}

function resultPrefix(channel: string): string | null {
  const at = channel.indexOf(RESULT_PART);
  return at < 0 || at > 100 ? null : channel.slice(0, at);
}
