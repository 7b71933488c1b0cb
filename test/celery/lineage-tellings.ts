/** All that a run of Celery tells of its tasks, as a deployment on arrays hears it. */
import {
  type DumpedKey,
  eventsIn,
  inAnyOrder,
  type Recording,
  randomOf,
} from '../helpers/celery-recordings.ts';
import {
  type ArrayDeployment,
  type ArrayDeploymentOptions,
  holdTime,
  LONG,
  openArrayDeployment,
  pass,
} from './array-deployment.ts';

/** One message, or one key that was read. */
export interface Telling {
  /** Unix seconds. */
  readonly t: number;
  readonly kind: 'event' | 'result' | 'group' | 'queue';
  tell(deployment: ArrayDeployment): void;
}

const META = 'celery-task-meta-';
const GROUP = 'celery-taskset-meta-';

/** All that a run tells, in the order of its time. */
export function tellingsOf({ messages, keys }: Pick<Recording, 'messages' | 'keys'>): Telling[] {
  const tellings: Telling[] = [];
  for (const published of messages) {
    const { t, channel, message } = published;
    if (channel.startsWith(META)) tellings.push(ofResult(t, channel, message));
    else if (channel.startsWith(GROUP)) tellings.push(ofGroup(t, channel, message));
    else for (const event of eventsIn(published)) tellings.push(ofEvent(t, event));
  }
  for (const key of keys) tellings.push(...ofKey(key));
  return tellings.sort((one, other) => one.t - other.t);
}

function ofEvent(t: number, event: object): Telling {
  return { t, kind: 'event', tell: ({ hear }) => hear(event) };
}

function ofResult(t: number, key: string, value: string): Telling {
  return { t, kind: 'result', tell: ({ publish }) => publish(key.slice(META.length), value) };
}

/** A stored result, as it was published when its task ended. */
function ofStored(at: number, key: string, value: string): Telling {
  const [, done] = /"date_done": "([^"]+?)(?:\+00:00)?"/.exec(value) ?? [];
  const [whole = '', fraction = ''] = done?.split('.') ?? [];
  const t = done === undefined ? at : Date.parse(`${whole}Z`) / 1000 + Number(`0.${fraction}`);
  return ofResult(t, key, value);
}

function ofGroup(t: number, key: string, value: string): Telling {
  const [, header = '', part] = new RegExp(`^${GROUP}(.*?)(\\.[jst])?$`).exec(key) ?? [];
  return {
    t,
    kind: 'group',
    tell({ publishGroup }) {
      if (part === undefined) publishGroup(header, value);
    },
  };
}

function ofKey({ at, key, type, value }: DumpedKey): Telling[] {
  if (type === 'string' && key.startsWith(META)) return [ofStored(at, key, String(value))];
  if (type === 'string' && key.startsWith(GROUP)) return [ofGroup(at, key, String(value))];
  if (type === 'list') return (value as string[]).map((raw) => ofMessage(at, key, raw));
  if (type !== 'hash' || !key.endsWith('unacked')) return [];
  // A message that a worker has taken stands beside its exchange and routing key.
  const taken = Object.values(value as Record<string, string>).map((text) => JSON.parse(text) as unknown[]);
  return taken.map(([message, , queue]) => ofMessage(at, String(queue), JSON.stringify(message)));
}

function ofMessage(t: number, queue: string, raw: string): Telling {
  return { t, kind: 'queue', tell: ({ waiting }) => void waiting.push({ queue, raw }) };
}

/** Any order, decided by the seed, in which published results, which come over one connection, keep theirs. */
export function shuffledTellings(tellings: readonly Telling[], seed: number): Telling[] {
  const results = tellings.filter(({ kind }) => kind === 'result').values();
  return inAnyOrder(tellings, randomOf(seed)).map((telling) =>
    telling.kind === 'result' ? (results.next().value as Telling) : telling,
  );
}

/** Everything back to front, but for published results. */
export function backwards(tellings: readonly Telling[]): Telling[] {
  const results = tellings.filter(({ kind }) => kind === 'result').values();
  return tellings
    .toReversed()
    .map((telling) => (telling.kind === 'result' ? (results.next().value as Telling) : telling));
}

/** A source that was told all of this a moment ago. To be closed by the caller, before there are too many. */
export async function toldDeployment(
  tellings: readonly Telling[],
  more: ArrayDeploymentOptions = {},
): Promise<ArrayDeployment> {
  const last = Math.max(...tellings.map(({ t }) => t));
  holdTime((last + 60) * 1000);
  const deployment = openArrayDeployment({ retention: LONG, control: false, ...more });
  for (const telling of tellings) telling.tell(deployment);
  await pass(8_000);
  return deployment;
}
