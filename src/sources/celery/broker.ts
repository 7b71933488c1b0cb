/**
 * The interface between the Celery source and the broker of a deployment. Everything that depends on the
 * transport (channels, keys, exchanges, envelopes) is in `brokers/<transport>`. Decoding, remote control,
 * queues and lineage are the same for every broker.
 */
import type { TaskFacts } from '../../history/history.ts';
import type { ConnectionState } from '../../kept-connection.ts';
import type { TaskRelation } from '../../model.ts';
import { ServerError } from '../../server-problems.ts';
import type { Hint, Problem } from './hint.ts';
import type { QueuedTask } from './protocol/messages.ts';

/** A broker. Nothing is connected before `events.start`, a control request, a reading or a check. */
export interface Broker {
  readonly events: BrokerEvents;
  /** Remote control of the workers; `null` if the transport offers none. */
  readonly control: Mailbox | null;
  /** Reads queues; `null` if the transport cannot. */
  readonly queues: QueueReader | null;
  /** The data of the component `broker`. Never contains a password. */
  describe(): ServerDescription;
  /**
   * Checks whether the broker answers and accepts writes. Resolves to the problem, or `null` when there is none. The
   * code is `READONLY` where it accepts no writes. Never rejects.
   */
  check(signal: AbortSignal): Promise<Problem | null>;
  /** The hint for a right that our user lacks, with what to run; `null` where the transport has no such rights. */
  deniedHint(access: BrokerAccess): Hint | null;
  /**
   * Looks once, over connections of its own, for where else events are published, when none arrive. Absent
   * where the transport cannot look.
   */
  diagnose?(signal: AbortSignal): Promise<readonly Hint[]>;
  /** Dangers that the broker itself knows. */
  hints?(): readonly Hint[];
  /** The version of RabbitMQ; `null`: not known yet. Absent for other brokers. */
  version?(): string | null;
  /** After how many milliseconds an unacknowledged message is delivered again. Absent where that does not happen. */
  readonly visibilityMs?: number;
  /** Closes every connection and removes what was created in the broker. Resolves within about two seconds. */
  close(): Promise<void>;
}

/**
 * What a user of the broker may be denied. `schedules` is redbeat's schedule, which is in the broker by default.
 * `writes`: nobody may write at present, see `check`.
 */
export type BrokerAccess = 'events' | 'queues' | 'schedules' | 'control' | 'writes';

/** A broker or a result backend as its component shows it. */
export interface ServerDescription {
  /** Without user, password and query; `null` if a client does not reveal it. */
  readonly url: string | null;
  /** Members of the component's `config`, such as `transport` and `database`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Listens to Celery's events. */
export interface BrokerEvents {
  /** Names of what is subscribed: channels, patterns or exchanges. */
  readonly channels: readonly string[];
  /** Connects, and reconnects for as long as it takes. To be called once. */
  start(handlers: EventHandlers): void;
  state(): ConnectionState<Problem>;
  /** Whether messages have arrived that were not handed over yet. Absent where they are handed over at once. */
  isBehind?(): boolean;
}

/** What a broker reports while it listens. */
export interface EventHandlers {
  /**
   * The parsed body of one message: an event, or an array of events.
   *
   * @param isContinued whether these are further events of the message before. Default false
   */
  message(body: unknown, isContinued?: boolean): void;
  /** A message was dropped, because more arrive than can be processed. */
  lost(): void;
  /**
   * A message with an unreadable body.
   *
   * @param contentType the content type that the message names; `null` if it names none
   */
  unreadable(contentType: string | null): void;
  /**
   * The connection is up.
   *
   * @param again whether it had been up before, so that messages may have been missed
   */
  up(again: boolean): void;
  /** Messages may have been missed, though the connection is up: the broker could not keep all of them. */
  gap(): void;
  /** @param asOf when the connection was last known to work, milliseconds since 1970 */
  down(asOf: number): void;
}

/** Sends remote control requests to workers and receives their replies. */
export interface Mailbox {
  /** Why no request may be sent with the present settings, however often it is tried; `null` when it may. */
  readonly fault: Problem | null;
  /**
   * Sends a request to all workers that listen.
   *
   * @param timeoutMs most time to take for sending
   * @throws ControlFailure when the request was not sent
   */
  send(request: ControlRequest, timeoutMs: number, listener: ReplyListener): Promise<SentRequest>;
  /** Removes what was created for replies and closes the connections. Resolves within about two seconds. */
  close(): Promise<void>;
}

/** A request that `control/encoder.ts` has validated. Mailboxes send its body as it is. */
export interface ControlRequest {
  /** Identifies the request; every reply carries it. */
  readonly ticket: string;
  /** Seconds since 1970; a header of the message. */
  readonly expires: number;
  /**
   * The body, as JSON.
   *
   * @param exchange where replies are sent
   * @param routingKey the routing key of replies
   * @throws TypeError for a routing key that is not a plain id
   */
  body(exchange: string, routingKey: string): string;
}

/** Receives the replies to one request. */
export interface ReplyListener {
  /** @returns whether no further reply is expected */
  onReply(reply: ReplyMessage): boolean;
  /** No further reply will arrive, because of this error. */
  onLost(error: unknown): void;
}

/** A reply as it arrived. */
export interface ReplyMessage {
  readonly contentType: string;
  readonly isCompressed: boolean;
  readonly body: Buffer;
}

/** A request that was sent. */
export interface SentRequest {
  /** How many connections received the request; `null` where the transport does not report it. */
  readonly receivers: number | null;
  /** To be called once. @param isComplete whether no reply can arrive any more */
  end(isComplete: boolean): void;
}

/** Reads the queues of a deployment. */
export interface QueueReader {
  /**
   * Whether messages can be listed. If not, readings have none, and waiting tasks are known only from the events of
   * their clients (`task_send_sent_event`).
   */
  readonly listsMessages: boolean;
  /**
   * Reads all queues once. Never rejects: a failure is part of the reading, with the data of the last
   * good one.
   *
   * @param known names of queues that the workers name, and the events of clients where messages cannot be listed
   * @param take is given every message when it is first read
   * @param now milliseconds since 1970
   */
  read(known: readonly string[], take: TakeMessage, now: number): Promise<QueueReading>;
}

/**
 * Takes in one message and returns the data to keep.
 *
 * @param task the decoded message; `null` if it is not readable
 */
export type TakeMessage = (task: QueuedTask | null, position: MessagePosition) => WaitingMessage;

/** The queues at one moment. */
export interface QueueReading {
  /** By name. A queue that only a default names is left out while it is empty. */
  readonly queues: readonly QueueCounts[];
  /**
   * Messages that no worker has acknowledged, in the order in which they will run: first those that workers
   * have taken, then queue by queue; of long queues, only those that run next and the newest. A message is represented by
   * the same object in every reading.
   */
  readonly messages: readonly WaitingMessage[];
  /**
   * Whether `messages` are all messages. Where messages cannot be listed: whether the broker is known to hold no
   * message of a task at all.
   */
  readonly isComplete: boolean;
  /** Whether the reading succeeded. */
  readonly ok: boolean;
  /** Why the reading failed, or what was refused; `null` when all is well. */
  readonly problem: Problem | null;
  /** Changes whenever one of the members above has changed. */
  readonly revision: number;
}

/** Before the first reading. */
export const NOTHING_READ: QueueReading = {
  queues: [],
  messages: [],
  isComplete: false,
  ok: false,
  problem: null,
  revision: 0,
};

/** The number of messages in a queue; `null` if it is not known. */
export interface QueueCounts {
  readonly name: string;
  readonly waiting: number | null;
  /** Held by workers and not acknowledged. */
  readonly reserved: number | null;
  /** `null` where the transport does not know who consumes. */
  readonly consumers: number | null;
}

/** Where a message is. */
export interface MessagePosition {
  /** Tells messages apart: the delivery tag, or a digest. */
  readonly tag: string;
  /**
   * The part of the order to which the message belongs: its queue and priority, and whether it is one of the newest of a
   * long queue. Parts are sorted as text. The part of messages that workers have taken is empty, so it comes first.
   */
  readonly part: string;
  /** When a worker took the message, seconds since 1970 by its clock; `null` while it is in a queue. */
  readonly takenAt: number | null;
}

/** What is kept in memory of a message that no worker has acknowledged. */
export interface WaitingMessage extends MessagePosition {
  /** `null` when the message cannot be read. */
  readonly facts: TaskFacts | null;
  /** When it was first read, milliseconds since 1970. */
  readonly seenAt: number;
  /** The tasks that the message announces. */
  readonly relations: readonly TaskRelation[];
  /** Estimate of the memory that it takes. */
  readonly bytes: number;
}

/** Thrown when a request could not be sent, or when its replies cannot be received. */
export class ControlFailure extends ServerError<Problem> {
  override readonly name = 'ControlFailure';
}

/** The problem of anything that a mailbox has thrown. */
export function controlProblemOf(error: unknown): Problem {
  if (error instanceof ControlFailure) return error.problem;
  return { code: 'UNKNOWN', sentence: 'Remote control has failed.' };
}
