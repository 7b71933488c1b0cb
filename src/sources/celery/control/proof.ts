/**
 * What a worker can answer. A reply that a worker cannot encode is worse than none: Celery 5.2 then resets
 * its mailbox and takes no more tasks until it is restarted, and so do all workers that received the same
 * request. Its configuration shows what it can encode; the reply to `conf` itself always can be encoded
 * (`jsonify` in celery/utils/serialization.py).
 */

import { isRecord } from '../../../values.ts';
import type { InspectCommand } from './encoder.ts';

/** What a worker that answers in JSON can be asked, by its configuration. */
export type Proof = Readonly<Record<'stats' | 'items', boolean>>;

/** Commands whose replies may contain objects of the app. */
const NEEDED: Partial<Record<InspectCommand, keyof Proof>> = {
  // Transport options as they are.
  stats: 'stats',
  // Arguments of tasks as they are.
  reserved: 'items',
  scheduled: 'items',
};

/** What must be proven before this command is sent; `null`: nothing. */
export function proofFor(command: InspectCommand): keyof Proof | null {
  return NEEDED[command] ?? null;
}

/** The endings of the settings that matter, whatever prefix and case the app uses. */
const ACCEPTED = 'accept_content';
const BROKER = [
  'broker_transport_options',
  'broker_use_ssl',
  'broker_failover_strategy',
  'broker_login_method',
];
const JSON_NAMES: readonly unknown[] = ['json', 'application/json'];

/** What Celery shows for a setting whose name sounds like a secret. */
const MASK = '********';
const MAX_DEPTH = 8;

/** @param conf the worker's answer to `conf`, which leaves out defaults: JSON alone, no options */
export function proofOf(conf: unknown): Proof {
  if (!isRecord(conf)) return { stats: false, items: false };
  let stats = true;
  let items = true;
  for (const [key, value] of Object.entries(conf)) {
    const name = key.toLowerCase();
    if (name.endsWith(ACCEPTED) && !name.endsWith(`result_${ACCEPTED}`)) items &&= isJsonAlone(value);
    if (BROKER.some((setting) => name.endsWith(setting))) stats &&= isPlain(value, name, 0);
  }
  return { stats, items };
}

function isJsonAlone(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.every((type) => JSON_NAMES.includes(type)));
}

/** Whether a value is plain data; objects are shown as their reprs. */
function isPlain(value: unknown, key: string, depth: number): boolean {
  if (typeof value === 'string') return isPlainText(value, key);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, key, depth + 1));
  return Object.entries(value).every(([name, member]) => isPlain(member, name.toLowerCase(), depth + 1));
}

function isPlainText(text: string, key: string): boolean {
  if (text === MASK) return /(?:key|prefix|file|password|username)$/.test(key);
  return key === 'fanout_prefix' || !/[<({]|^b['"]/.test(text);
}
