/** What real Celery workers, clients and redbeat have written, by what it is. */
import { type DumpedKey, eventsIn, RECORDINGS, readLines } from '../helpers/celery-recordings.ts';

const messages = RECORDINGS.flatMap((recording) => recording.messages);
const keys = RECORDINGS.flatMap((recording) => recording.keys);

/** Every n-th: seeds are to differ, and more of them do not find more. */
function some<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, Math.floor(all.length / most));
  return all.filter((_, index) => index % step === 0).slice(0, most);
}

function textsIn({ value }: DumpedKey): string[] {
  const held = typeof value === 'object' && value !== null ? Object.values(value) : [value];
  return held.filter((item) => typeof item === 'string');
}

function valuesOf(pattern: RegExp): string[] {
  return keys.filter(({ key }) => pattern.test(key)).flatMap(textsIn);
}

const published = messages.filter((message) => eventsIn(message).length > 0);
const redbeat = readLines<DumpedKey>('redbeat-A.jsonl').filter(({ type }) => type === 'hash');

/** Messages of event channels, and the events in them. */
export const EVENT_MESSAGES = some(published, 150).map(({ message }) => message);
export const EVENTS = some(published, 150).flatMap(eventsIn);
/** Values of `celery-task-meta-…`, of `celery-taskset-meta-…`, and of the size of a chord beside it. */
export const RESULTS = some([...new Set(valuesOf(/celery-task-meta-/))], 150);
export const GROUPS = some(valuesOf(/celery-taskset-meta-[^.]+$/), 20);
/** Messages in queues, and entries of `unacked`. */
export const WAITING = some(valuesOf(/^(?:shop:)?(?:celery|heavy|orphans|idle)\p{Cc}*[0-9]?$/u), 60).filter(
  (text) => text.startsWith('{'),
);
export const TAKEN = some(valuesOf(/unacked$/), 40).filter((text) => text.startsWith('[{'));

interface Exchange {
  readonly replies: readonly { readonly raw: string }[];
}
/** Replies of workers to remote control. */
export const REPLIES = readLines<Exchange>('control-A.jsonl').flatMap(({ replies }) =>
  replies.map(({ raw }) => raw),
);
/** The two fields of redbeat's entries. */
export const REDBEAT = redbeat.map(
  ({ value }) => value as { readonly definition: string; readonly meta: string },
);

for (const [name, seeds] of Object.entries({
  EVENT_MESSAGES,
  EVENTS,
  RESULTS,
  GROUPS,
  WAITING,
  TAKEN,
  REPLIES,
  REDBEAT,
})) {
  if (seeds.length === 0) throw new Error(`The recordings have no ${name}.`);
}
