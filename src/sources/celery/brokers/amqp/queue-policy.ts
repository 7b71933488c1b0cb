/** Checks whether a policy of RabbitMQ drops messages from the queue of events earlier than its own bounds. */
import { isRecord } from '../../../../values.ts';
import { signalWithin } from '../../../../waiting.ts';
import { type Hint, quoted } from '../../hint.ts';
import type { EventQueue } from './event-queue.ts';
import { getJson } from './management/get-json.ts';
import type { ResolvedManagement } from './management/management-options.ts';

/** All in milliseconds: how often the need for a check is tested, and how often to check. */
const TICK_MS = 2_000;
const INTERVAL_MS = 300_000;
const DEADLINE_MS = 5_000;
const MOST_BYTES = 256 * 1024;

/** Checks now and then. */
export interface PolicyWatch {
  /** The hint for a policy that drops events; `null` if there is none, or unknown. */
  hint(): Hint | null;
  close(): void;
}

/** Asks nothing until `isUp`: the queue exists then. */
export function watchPolicy(
  management: ResolvedManagement,
  virtualHost: string,
  queue: EventQueue,
  isUp: () => boolean,
): PolicyWatch {
  const closing = new AbortController();
  let found: Hint | null = null;
  let dueAt = 0;

  async function look(): Promise<void> {
    const now = performance.now();
    if (now < dueAt || !isUp()) return;
    dueAt = now + INTERVAL_MS;
    const row = await readQueue(management, virtualHost, queue.name(), closing.signal);
    // Statistics of a new queue take some seconds.
    if (row?.effective_policy_definition === undefined) dueAt = now + TICK_MS;
    else found = hintFor(row, queue);
  }

  const ticker = setInterval(() => void look(), TICK_MS).unref();
  return {
    hint: () => found,
    close() {
      clearInterval(ticker);
      closing.abort();
    },
  };
}

/** @returns `null` when it cannot be read: the reading of the queues reports why */
async function readQueue(
  management: ResolvedManagement,
  virtualHost: string,
  name: string,
  closing: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    const columns = 'columns=policy,operator_policy,effective_policy_definition';
    // Throws for a name that is not well-formed, such as the host may give.
    const path = `/api/queues/${encodeURIComponent(virtualHost)}/${encodeURIComponent(name)}?${columns}`;
    const signal = signalWithin(DEADLINE_MS, closing);
    const { value } = await getJson(management, path, { signal, maxBytes: MOST_BYTES });
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function hintFor(row: Readonly<Record<string, unknown>>, queue: EventQueue): Hint | null {
  const { policy, operator_policy: operator, effective_policy_definition: definition } = row;
  if (!isRecord(definition)) return null;
  const own: Readonly<Record<string, number>> = {
    'max-length': queue.maxLength,
    expires: queue.expiresMs,
    'message-ttl': Number.POSITIVE_INFINITY,
    'max-length-bytes': Number.POSITIVE_INFINITY,
  };
  const bounds = Object.entries(own)
    .filter(([key, bound]) => typeof definition[key] === 'number' && definition[key] < bound)
    .map(([key]) => key);
  if (bounds.length === 0) return null;
  const names = [policy, operator].filter((name) => typeof name === 'string' && name !== '');
  const such =
    names.length === 0 ? 'A policy' : `The policy ${names.map((name) => quoted(String(name))).join(', ')}`;
  const line = bounds.map((key) => `${key}: ${String(definition[key])}`).join(', ');
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence:
      `${such} of RabbitMQ also applies to the queue of this monitor (${line}), so events may be dropped while it is ` +
      'disconnected or slow. Exclude names that begin with express-task-monitor from its pattern.',
  };
}
