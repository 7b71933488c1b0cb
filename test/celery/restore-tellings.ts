/** All that a run of Celery tells of its tasks, as the history and the lineage take it in. */
import type { History } from '../../src/history/history.ts';
import { decodeEnvelope } from '../../src/sources/celery/brokers/redis/envelope.ts';
import type { Lineage } from '../../src/sources/celery/lineage/lineage.ts';
import { type CeleryEvent, taskChangeOf } from '../../src/sources/celery/protocol/events.ts';
import type { QueuedTask } from '../../src/sources/celery/protocol/messages.ts';
import { decodeTaken, decodeWaiting } from '../../src/sources/celery/protocol/queue-message.ts';
import { decodeGroup } from '../../src/sources/celery/protocol/result-nodes.ts';
import { decodeResult } from '../../src/sources/celery/protocol/results.ts';
import type { DumpedKey, Recording } from '../helpers/celery-recordings.ts';

/** One message, or one key that was read. */
export interface Telling {
  /** Unix seconds. */
  readonly t: number;
  readonly kind: 'event' | 'result' | 'group' | 'queue';
  /** The task whose result it is; absent for all other kinds. */
  readonly taskId?: string;
  tell(history: History, lineage: Lineage): void;
}

/** All that a run tells, in the order of its time. */
export function tellingsOf({ messages, keys }: Pick<Recording, 'messages' | 'keys'>): Telling[] {
  const tellings: Telling[] = [];
  for (const { t, channel, message } of messages) {
    if (channel.startsWith('celery-task-meta-')) tellings.push(ofResult(t, channel, message));
    else if (channel.startsWith('celery-taskset-meta-')) tellings.push(ofGroup(t, channel, message));
    else if (!channel.includes('pidbox')) {
      const body = decodeEnvelope(message);
      for (const event of Array.isArray(body) ? body : [body]) tellings.push(ofEvent(t, event));
    }
  }
  for (const key of keys) tellings.push(...ofKey(key));
  return tellings.sort((one, other) => one.t - other.t);
}

function ofEvent(t: number, event: unknown): Telling {
  const change = taskChangeOf(event as CeleryEvent);
  return {
    t,
    kind: 'event',
    tell(history, lineage) {
      if (change === null) return;
      history.writer.recordTask(change);
      lineage.changed(change);
    },
  };
}

function ofResult(t: number, key: string, value: string): Telling {
  const result = decodeResult(value, key.slice('celery-task-meta-'.length), 65_536);
  return {
    t,
    kind: 'result',
    taskId: key.slice('celery-task-meta-'.length),
    tell(history, lineage) {
      if (result === null) return;
      history.writer.recordTask(result.change);
      lineage.stored(result);
    },
  };
}

function ofGroup(t: number, key: string, value: string): Telling {
  const [, header, part] = /^celery-taskset-meta-(.*?)(\.[jst])?$/.exec(key) ?? [];
  const group = part === undefined ? decodeGroup(value) : null;
  return {
    t,
    kind: 'group',
    tell(_, lineage) {
      if (group !== null) lineage.saved(group);
      else if (part === '.s') lineage.sized(String(header), Number(value));
    },
  };
}

function ofKey({ at, key, type, value }: DumpedKey): Telling[] {
  if (type === 'string' && key.startsWith('celery-task-meta-')) return [ofResult(at, key, String(value))];
  if (type === 'string' && key.startsWith('celery-taskset-meta-')) return [ofGroup(at, key, String(value))];
  if (type === 'list') return (value as string[]).map((raw) => ofMessage(at, decodeWaiting(raw, key)));
  if (type !== 'hash' || !key.endsWith('unacked')) return [];
  const entries = Object.values(value as Record<string, string>);
  return entries.map((raw) =>
    ofMessage(
      at,
      decodeTaken(raw, at * 1000, () => null),
    ),
  );
}

function ofMessage(t: number, task: QueuedTask | null): Telling {
  return {
    t,
    kind: 'queue',
    tell(history, lineage) {
      if (task === null) return;
      history.writer.recordFacts(task.facts);
      lineage.queued(task);
    },
  };
}
