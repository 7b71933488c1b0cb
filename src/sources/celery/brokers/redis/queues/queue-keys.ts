/** Names of the keys in which kombu's Redis transport keeps messages (kombu/transport/redis.py). */
import { escapeGlob } from '../../../../../redis/acl.ts';
import type { CelerySettings } from '../../../settings.ts';

/** Names of keys of one deployment. */
export interface QueueKeys {
  /** Between the parts of a name. */
  readonly sep: string;
  /** Priorities that have a list of their own, in the order in which they run. */
  readonly steps: readonly number[];
  /** The list of one priority of a queue. */
  list(queue: string, step: number): string;
  /** The hash of unacknowledged messages, and the sorted set that belongs to it. */
  readonly taken: string;
  readonly takenIndex: string;
  /** The set of what is bound to an exchange. */
  bindings(exchange: string): string;
  /** Matches the names of all such sets. */
  readonly bindingPattern: string;
  /** The exchange whose set this is. */
  exchangeOf(key: string): string;
}

/** More priorities than this are not read; AMQP has ten. */
const MAX_STEPS = 32;
const BINDING = '_kombu.binding.';

/** @returns the names under the app's transport options */
export function queueKeys(settings: CelerySettings): QueueKeys {
  const options = settings.broker_transport_options ?? {};
  const prefix = options.global_keyprefix ?? '';
  const sep = options.sep ?? '\x06\x16';
  const steps = options.priority_steps ?? [0, 3, 6, 9];
  return {
    sep,
    steps: [...new Set(steps.length > 0 ? steps : [0])].slice(0, MAX_STEPS),
    list: (queue, step) => `${prefix}${queue}${step === 0 ? '' : `${sep}${step}`}`,
    taken: prefix + (options.unacked_key ?? 'unacked'),
    takenIndex: prefix + (options.unacked_index_key ?? 'unacked_index'),
    bindings: (exchange) => `${prefix}${BINDING}${exchange}`,
    bindingPattern: `${escapeGlob(prefix + BINDING)}*`,
    exchangeOf: (key) => key.slice(prefix.length + BINDING.length),
  };
}
