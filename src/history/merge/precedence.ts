/**
 * Which message sets each field of a task, independent of the order of arrival.
 *
 * Every message claims the fields that it carries. A claim has a rank, which depends on who reports the
 * field. It replaces a value of a lower rank and never one of a higher rank; between equal ranks the tie
 * rule decides.
 */

/**
 * Who reports what a task is.
 * - `sent`: the client, when it sends the task
 * - `received`: a worker, when it receives the task
 * - `event`: any other event of a worker
 * - `read`: the result backend, or any message that was read from where it is stored
 * - `header`: the header of the task's message, without a change in its life
 * - `relation`: another task, or a group
 */
export type Reporter = 'sent' | 'received' | 'event' | 'read' | 'header' | 'relation';

/** Who reports how an attempt ended. `cut`: a worker that has cut the text. */
export type OutcomeReporter = 'worker' | 'cut' | 'backend';

/**
 * When a claim replaces a value of the same rank.
 * - `last`: always, so the message that arrives last decides
 * - `first`: never, so the message that arrives first decides
 * - `if unknown`: if there is no value at all; this also applies to a lower rank
 * - `latest of its kind`: if no message of its kind and origin has a later time
 * - `latest opening`, `earliest opening`: if no `sent` or `received` event has a later (earlier) time
 */
export type Tie =
  | 'last'
  | 'first'
  | 'if unknown'
  | 'latest of its kind'
  | 'latest opening'
  | 'earliest opening';

/** The right of a message to set a field. */
export interface Claim {
  /** 0 to 7. */
  readonly rank: number;
  readonly tie: Tie;
  /** The tie rule also applies to a value of a lower rank. */
  readonly isStrict?: boolean;
}

/** Which reporters may claim a field; the claims of others are ignored. */
export type Rule<Who extends string> = { readonly [Name in Who]?: Claim };

/** A field of what a task is, or fields that are claimed together. */
export type Field = 'name' | 'args' | 'eta' | 'queue' | 'expires' | 'lineage' | 'group' | 'chord' | 'same';

/**
 * A field of how an attempt ended. The result has its own rules, {@link RESULT_PRECEDENCE}; the run time is that of the
 * last end.
 */
export type OutcomeField = 'retryException' | 'exception';

/** Rank of the events that open an attempt (`sent`, `received`), in fields that they carry. */
export const OPENING = 3;

/** `sent` and `received` carry the task's whole message; everything else only fills in. */
const OF_THE_MESSAGE: Rule<Reporter> = {
  sent: { rank: OPENING, tie: 'latest opening', isStrict: true },
  received: { rank: OPENING, tie: 'latest opening', isStrict: true },
  event: { rank: 2, tie: 'last' },
  read: { rank: 2, tie: 'last' },
  header: { rank: 2, tie: 'if unknown' },
};

/** Only the messages of the task itself know; a header repeats them. */
const OF_THE_CANVAS: Rule<Reporter> = {
  sent: { rank: 3, tie: 'last' },
  received: { rank: 3, tie: 'last' },
  event: { rank: 3, tie: 'last' },
  read: { rank: 3, tie: 'last' },
  header: { rank: 2, tie: 'first' },
  relation: { rank: 1, tie: 'last' },
};

/** What a task is: the precedence of each field. */
export const PRECEDENCE: Readonly<Record<Field, Rule<Reporter>>> = {
  /**
   * The client knows the name. A worker may show a shadow name, which the backend and the queue do not.
   * The latest counts, since `replace()` gives a task a new name.
   */
  name: {
    sent: { rank: 4, tie: 'latest of its kind' },
    read: { rank: 3, tie: 'latest of its kind' },
    received: { rank: 2, tie: 'latest of its kind' },
    event: { rank: 2, tie: 'latest of its kind' },
    header: { rank: 1, tie: 'if unknown' },
  },
  /** `replace()` changes the arguments. The keyword arguments come with them and have no rank of their own. */
  args: OF_THE_MESSAGE,
  /** Each retry has an eta of its own, and an opening message without one says that there is none. */
  eta: OF_THE_MESSAGE,
  /** Of the events only `sent` carries the queue, and it may arrive after the worker's `received`. */
  queue: {
    sent: { rank: OPENING, tie: 'latest of its kind' },
    received: { rank: OPENING, tie: 'latest of its kind' },
    event: { rank: 2, tie: 'last' },
    read: { rank: 2, tie: 'last' },
    header: { rank: 1, tie: 'if unknown' },
  },
  /** No message says that a task does not expire. */
  expires: {
    sent: { rank: 1, tie: 'latest opening', isStrict: true },
    received: { rank: 1, tie: 'latest opening', isStrict: true },
    event: { rank: 0, tie: 'if unknown' },
    read: { rank: 0, tie: 'if unknown' },
    header: { rank: 0, tie: 'if unknown' },
  },
  /** Parent and root. A retry and `replace()` name the task itself as its parent, so the first message counts. */
  lineage: {
    sent: { rank: OPENING, tie: 'earliest opening' },
    received: { rank: OPENING, tie: 'earliest opening' },
    event: { rank: 2, tie: 'last' },
    read: { rank: 2, tie: 'last' },
    header: { rank: 2, tie: 'if unknown' },
  },
  group: OF_THE_CANVAS,
  chord: OF_THE_CANVAS,
  /** Every message carries the same value, so the last one may decide. */
  same: {
    sent: { rank: 1, tie: 'last' },
    received: { rank: 1, tie: 'last' },
    event: { rank: 1, tie: 'last' },
    read: { rank: 1, tie: 'last' },
    header: { rank: 0, tie: 'if unknown' },
  },
};

/** How an attempt ended: the precedence of each field. */
export const OUTCOME_PRECEDENCE: Readonly<Record<OutcomeField, Rule<OutcomeReporter>>> = {
  /** Exception and traceback of a retry: each further attempt, and above all the end, replaces them. */
  retryException: {
    backend: { rank: 1, tie: 'latest of its kind' },
    worker: { rank: 2, tie: 'latest of its kind' },
    cut: { rank: 2, tie: 'latest of its kind' },
  },
  /** Exception and traceback of the end. */
  exception: {
    backend: { rank: 3, tie: 'latest of its kind' },
    worker: { rank: 4, tie: 'latest of its kind' },
    cut: { rank: 4, tie: 'latest of its kind' },
  },
};

/**
 * Rank of the reporter of the present result. `CUT`: some event has reported a cut text, perhaps not the present one.
 */
export const RESULT_RANK = { NONE: 0, BACKEND: 1, CUT: 2, WORKER: 3 } as const;

/**
 * What happens to a reported result, by the rank of the present one. The text of the event is preferred, since it is
 * Python's own, unless it was cut: then the backend has the whole text. A cut text that arrives after the backend's is
 * only noted (`note`). Any result must be the latest of its kind.
 */
export const RESULT_PRECEDENCE: Readonly<Record<OutcomeReporter, readonly ('take' | 'note' | 'leave')[]>> = {
  //        NONE    BACKEND CUT     WORKER
  worker: ['take', 'take', 'take', 'take'],
  cut: ['take', 'note', 'take', 'take'],
  backend: ['take', 'take', 'take', 'leave'],
};
