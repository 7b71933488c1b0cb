/** Looks whether a policy of RabbitMQ takes messages from the queue of events earlier than its own bounds. */
import { isRecord } from '../../../../values.ts';
import { type Hint, quoted } from '../../hint.ts';
import type { EventQueue } from './event-queue.ts';
import { getJson } from './management/get-json.ts';
import type { ResolvedManagement } from './management/management-options.ts';

const DEADLINE_MS = 5_000;
const MOST_BYTES = 256 * 1024;

/**
 * @returns the hint for a policy that drops events; `null` if there is none, or it is not known
 */
export async function policyHint(
  management: ResolvedManagement,
  virtualHost: string,
  queue: EventQueue,
): Promise<Hint | null> {
  const columns = 'columns=policy,operator_policy,effective_policy_definition';
  const name = queue.name();
  const path = `/api/queues/${encodeURIComponent(virtualHost)}/${encodeURIComponent(name)}?${columns}`;
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const { value } = await getJson(management, path, { signal, maxBytes: MOST_BYTES });
    return isRecord(value) ? hintFor(value, queue) : null;
  } catch {
    // The reading of the queues reports why the management API cannot be used.
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
    code: 'queue_policy',
    component: 'broker',
    sentence:
      `${such} of RabbitMQ also applies to the queue of this monitor (${line}), so events may be dropped while it is ` +
      'disconnected or slow. Exclude names that begin with express-task-monitor from its pattern.',
    line,
  };
}
