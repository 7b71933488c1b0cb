/** A deployment on arrays whose hints are judged at moments of a clock that only the test moves. */
import type { QueueReader } from '../../src/sources/celery/broker.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import type { ArrayBroker } from './array-broker.ts';
import { type ArrayDeploymentOptions, holdTime, openArrayDeployment, pass } from './array-deployment.ts';

/** Settings and options that hints name, as they are written in their sentences. */
const LINES = [
  'worker_send_task_events = True',
  'task_send_sent_event = True',
  'result_extended = True',
  'task_ignore_result = False',
  "event_serializer = 'json'",
  "result_serializer = 'json'",
  "task_serializer = 'json'",
  'celery -A <app> worker',
  'timedatectl set-ntp true',
  'enableEvents: true',
  "backend: 'redis://…/1'",
];

const START = Date.parse('2026-11-21T03:00:00Z');

let lastId = 0;

function nextId(): string {
  lastId += 1;
  return `id-${lastId}`;
}

/** How a deployment of these hints differs from one of arrays. */
interface HintedOptions extends Omit<ArrayDeploymentOptions, 'broker'> {
  /** Whether the broker lists the messages that wait. Default true. */
  readonly listsMessages?: boolean;
  readonly mailbox?: ArrayBroker['control'];
  /** When the broker delivers a message again, in milliseconds. Default: never. */
  readonly visibilityMs?: number;
  /** Version of RabbitMQ. Default: another broker. */
  readonly version?: string;
}

/** A deployment that is told of step by step. It ends with the test. */
export function deployment({
  listsMessages = true,
  mailbox,
  version,
  visibilityMs,
  ...options
}: HintedOptions = {}) {
  holdTime(START);
  const array = openArrayDeployment({
    control: false,
    broker: (broker) => ({
      ...broker,
      control: mailbox ?? broker.control,
      version: () => version ?? null,
      ...(visibilityMs !== undefined && { visibilityMs }),
      queues: broker.queues && { ...withEmptyQueue(broker.queues), listsMessages },
    }),
    ...options,
  });
  const { sources, hear, publish } = array;

  /** The sentences of a component, or of all of them. */
  async function hints(...keys: readonly string[]): Promise<string[]> {
    const all = keys.length === 0 ? ['broker', 'collector', 'backend'] : keys;
    const read = Promise.all(all.map(async (key) => (await componentOf(sources, key)).config));
    const configs = await answered(read);
    return configs.flatMap((config) => (config.hints ?? []) as string[]);
  }

  function message(type: string, hostname: string | undefined, fields: object, skew = 0): void {
    const timestamp = (Date.now() + skew) / 1000;
    hear({ type, hostname, pid: 7, clock: 1, utcoffset: 0, timestamp, ...fields });
  }

  return {
    ...array,
    hints,
    /** What to write, by the hints. */
    async named(): Promise<string[]> {
      const text = (await hints()).join('\n');
      return LINES.filter((line) => text.includes(line));
    },
    /** An event of `w1@alpha` about another task, or about the one that the fields name. */
    event: (type: string, fields: object = {}) =>
      message(`task-${type}`, 'w1@alpha', { uuid: nextId(), ...fields }),
    /** The client reports that it has sent a task. */
    sent: (fields: object = {}) =>
      message('task-sent', undefined, { uuid: nextId(), hostname: 'gen1@shop', ...fields }),
    /** A heartbeat says how many tasks a worker has begun. */
    beat: (processed: number, hostname = 'w1@alpha', skew = 0) =>
      message('worker-heartbeat', hostname, { freq: 2, active: 0, processed }, skew),
    worker: (type: 'online' | 'offline', hostname = 'w1@alpha') => message(`worker-${type}`, hostname, {}),
    /** Publishes the result of another task, or of the one that the fields name. */
    result(fields: Readonly<Record<string, unknown>> = {}): void {
      const id = String(fields.task_id ?? nextId());
      publish(id, { task_id: id, ...fields });
    },
    /** Empties the queues, or lets so many tasks wait in one, and reads them. */
    async waits(count: number, queue = 'celery', raw = (n: number) => `no task ${n}`): Promise<void> {
      array.waiting.splice(0);
      for (let n = 0; n < count; n += 1) array.waiting.push({ queue, raw: raw(n) });
      await pass(11_000);
      await sources.queues.listQueues(context);
    },
    pass: (seconds: number) => pass(seconds * 1_000),
  };
}

/** Workers name `celery`, so that it is listed while it is empty, too. */
function withEmptyQueue(reader: QueueReader): QueueReader {
  const empty = { name: 'celery', waiting: 0, reserved: 0, consumers: null };
  return {
    ...reader,
    async read(...asked) {
      const reading = await reader.read(...asked);
      const isBusy = reading.queues.some(({ name }) => name === empty.name);
      return isBusy ? reading : { ...reading, queues: [empty, ...reading.queues] };
    },
  };
}

/** Lets time pass until there is an answer: some wait for workers, by the clock. */
export async function answered<Answer>(answer: Answer | PromiseLike<Answer>): Promise<Answer> {
  let isAnswered = false;
  const settle = (): void => {
    isAnswered = true;
  };
  const answering = Promise.resolve(answer);
  answering.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  while (!isAnswered) await pass(1_000);
  return await answering;
}

/** Does something so many times. */
export function times(count: number, run: (at: number) => void): void {
  for (let at = 0; at < count; at += 1) run(at);
}
