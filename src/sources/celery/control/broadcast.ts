import type { ControlCommand } from './encoder.ts';
import type { Mailbox } from './mailbox.ts';
import type { ControlReply } from './reply.ts';

/**
 * How much longer to wait, in milliseconds, when as many as heard the message have answered but somebody
 * who ought to is not among them, or all have who usually do.
 */
const GRACE = 100;
/** For how long a broadcast that waited to its end tells who usually answers. Milliseconds. */
const HABIT = 10_000;
const MAX_REPLIES = 10_000;

/** What workers answered to one message. */
export interface Replies {
  /** By node name; `null` for what could not be done, or cannot be read here. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Workers that answered in an encoding that hides even their names. */
  readonly unnamed: number;
  /** Answers that say that the worker could not do it. */
  readonly errors: number;
  /** Answers in another encoding than JSON (`task_serializer`). */
  readonly unreadable: number;
  /** Connections that heard the message: workers, and perhaps others. */
  readonly receivers: number;
  /** Whether every worker answered that is known, or heard the message. */
  readonly isComplete: boolean;
  /** When it was asked, milliseconds since 1970, by this process's clock. */
  readonly askedAt: number;
  /** Milliseconds from then to the last answer that was waited for. */
  readonly tookMs: number;
}

/** Who answered a broadcast that was not cut short. */
interface Habit {
  readonly names: ReadonlySet<string>;
  readonly receivers: number;
  readonly until: number;
}

/**
 * Sends a message and gathers the answers.
 *
 * @param workers node names of those who are to act on it; default: all
 * @throws ControlFailure when nothing could be sent, or no answer be received
 */
export type Broadcast = (
  command: ControlCommand,
  timeoutMs: number,
  workers?: readonly string[],
) => Promise<Replies>;

/**
 * Sends messages to workers and gathers what they answer, no longer than it takes them.
 *
 * @param known names of the workers that are there, as far as others know
 */
export function createBroadcaster(mailbox: Mailbox, known: () => readonly string[]): Broadcast {
  let habit: Habit | null = null;

  return async function broadcast(command, timeoutMs, workers) {
    const askedAt = Date.now();
    const begun = performance.now();
    const values = new Map<string, unknown>();
    let answers = 0;
    let unnamed = 0;
    let errors = 0;
    let unreadable = 0;
    let receivers = Number.POSITIVE_INFINITY;
    let grace: NodeJS.Timeout | undefined;
    let isLate = false;
    let lost: { readonly error: unknown } | null = null as { readonly error: unknown } | null;
    let finish: () => void = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });

    function onReply(reply: ControlReply): boolean {
      if (answers >= MAX_REPLIES) return false;
      answers += 1;
      if (reply.isError) errors += 1;
      if (reply.isUnreadable) unreadable += 1;
      if (reply.worker === null) unnamed += 1;
      else values.set(reply.worker, reply.value);
      return look();
    }

    function isComplete(): boolean {
      return workers === undefined
        ? answers >= receivers && known().every((name) => values.has(name))
        : answers >= workers.length && workers.every((name) => values.has(name));
    }

    function look(): boolean {
      if (isComplete()) {
        finish();
        return true;
      }
      const isEnough = workers === undefined ? answers >= receivers || isUsual() : receivers === 0;
      if (grace === undefined && isEnough) {
        grace = setTimeout(finish, GRACE).unref();
      }
      return false;
    }

    function isUsual(): boolean {
      if (habit === null || performance.now() > habit.until || receivers > habit.receivers) return false;
      for (const name of habit.names) if (!values.has(name)) return false;
      return true;
    }

    function onLost(error: unknown): void {
      lost = { error };
      finish();
    }

    const sent = await mailbox.send(command, workers ?? null, timeoutMs, { onReply, onLost });
    receivers = sent.receivers;
    const deadline = setTimeout(() => {
      isLate = true;
      finish();
    }, timeoutMs).unref();
    look();
    await finished;
    clearTimeout(deadline);
    clearTimeout(grace);
    const all = isComplete();
    sent.end(workers === undefined ? answers >= receivers : all);
    if (lost !== null && answers === 0) throw lost.error;
    if (isLate && workers === undefined) {
      habit = { names: new Set(values.keys()), receivers, until: performance.now() + HABIT };
    }
    return {
      values,
      unnamed,
      errors,
      unreadable,
      receivers,
      isComplete: all,
      askedAt,
      tookMs: performance.now() - begun,
    };
  };
}
