/** A broker made of arrays: no server, no connection, no Redis. */
import type {
  Broker,
  BrokerEvents,
  EventHandlers,
  Mailbox,
  QueueReader,
  WaitingMessage,
} from '../../src/sources/celery/broker.ts';
import { decodeWaiting } from '../../src/sources/celery/protocol/queue-message.ts';

/** What the broker holds. */
export interface Arrays {
  /** Bodies of events, in the order in which they are delivered. */
  readonly events: readonly unknown[];
  /** Messages in queues, next to run first. */
  readonly waiting: readonly { readonly queue: string; readonly raw: string }[];
  /** What each worker answers, by node name and command. */
  readonly workers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A broker whose arrays may change while it is read. */
export interface ArrayBroker extends Broker {
  /** Commands that the workers were asked, in order. */
  readonly asked: readonly string[];
  /** Delivers bodies of events, once somebody listens. */
  deliver(...bodies: readonly unknown[]): void;
  /** Delivers a message with an unreadable body. */
  unreadable(contentType: string | null): void;
  /** Loses the connection and gets it back, so that events may have been missed. */
  reconnect(): void;
}

/** @param arrays what it holds */
export function createArrayBroker(arrays: Arrays): ArrayBroker {
  const asked: string[] = [];
  const now = Date.now();
  let state: ReturnType<BrokerEvents['state']> = {
    up: false,
    asOf: null,
    since: null,
    reconnects: 0,
    problem: null,
  };
  let listener: EventHandlers | null = null;
  return {
    asked,
    deliver(...bodies) {
      for (const body of bodies) listener?.message(body);
    },
    unreadable: (contentType) => listener?.unreadable(contentType),
    reconnect() {
      listener?.down(Date.now());
      state = { ...state, since: Date.now(), reconnects: state.reconnects + 1 };
      listener?.up(true);
    },
    events: {
      channels: ['an array'],
      start(handlers) {
        state = { ...state, up: true, asOf: now, since: now };
        listener = handlers;
        deliver(handlers, arrays.events);
      },
      state: () => state,
    },
    control: mailboxOf(arrays, asked),
    queues: readerOf(arrays),
    describe: () => ({ url: null, config: { transport: 'arrays' } }),
    check: async () => null,
    deniedHint: () => null,
    close: async () => {},
  };
}

function deliver(handlers: EventHandlers, events: readonly unknown[]): void {
  handlers.up(false);
  for (const body of events) handlers.message(body);
}

function mailboxOf({ workers }: Arrays, asked: string[]): Mailbox {
  return {
    fault: null,
    async send(request, _timeoutMs, listener) {
      const { method, destination } = JSON.parse(request.body('replies', 'me')) as {
        method: string;
        destination: readonly string[] | null;
      };
      asked.push(method);
      const names = Object.keys(workers).filter((name) => destination?.includes(name) ?? true);
      setImmediate(() => {
        for (const name of names) {
          const body = Buffer.from(JSON.stringify({ [name]: workers[name]?.[method] ?? {} }));
          listener.onReply({ contentType: 'application/json', isCompressed: false, body });
        }
      });
      return { receivers: names.length, end() {} };
    },
    close: async () => {},
  };
}

function readerOf({ waiting }: Arrays): QueueReader {
  const held = new Map<string, WaitingMessage>();
  let revision = 1;
  return {
    listsMessages: true,
    async read(_known, take) {
      const present = new Set(waiting.map(({ raw }) => raw));
      if (present.size !== held.size || [...held.keys()].some((raw) => !present.has(raw))) revision += 1;
      for (const raw of held.keys()) if (!present.has(raw)) held.delete(raw);
      for (const { queue, raw } of waiting) {
        if (held.has(raw)) continue;
        const task = decodeWaiting(raw, queue);
        held.set(raw, take(task, { tag: task?.deliveryTag ?? raw, part: queue, takenAt: null }));
      }
      const names = [...new Set(waiting.map(({ queue }) => queue))].sort();
      return {
        queues: names.map((name) => ({
          name,
          waiting: waiting.filter(({ queue }) => queue === name).length,
          reserved: 0,
          consumers: null,
        })),
        messages: [...held.values()],
        isComplete: true,
        newest: [],
        ok: true,
        problem: null,
        revision,
      };
    },
  };
}
