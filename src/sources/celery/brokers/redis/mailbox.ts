/**
 * Remote control over Redis (kombu/pidbox.py): requests are published, replies arrive in a list. A list exists
 * only while replies are expected; concurrent requests share it. Nothing may stay in Redis after a failure or a crash.
 */
import { randomUUID } from 'node:crypto';
import { createRedisReader, type RedisEndpoint } from '../../../../redis/connection.ts';
import { describeError, escapeGlob } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import {
  ControlFailure,
  type ControlRequest,
  type Mailbox,
  type ReplyListener,
  type SentRequest,
} from '../../broker.ts';
import type { Problem } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { type ControlAddress, controlAddress, unwrapReply, wrapRequest } from './pidbox.ts';

/**
 * Seconds that a BRPOP blocks before it is sent again: a whole number, for Redis before 6, and a small one,
 * because a connection without an answer for three seconds counts as lost.
 */
const HOLD = '1';
const HOLD_DEADLINE_MS = 3000;
/** How the id of each of our reply lists begins; the time of its creation follows, in base 36. */
const OID_PREFIX = 'express-task-monitor.';
/** A worker that looked up the list before it was unbound may write to it this much later. */
const LATE_MS = 2000;
/** A list lives as long as its requests overlap. One that is older was left by a process that has ended. */
const ABANDONED_MS = 60 * 60_000;
/** Bounds of the search for abandoned lists: steps, and members in each. */
const SCAN_STEPS = 200;
const SCAN_COUNT = '500';
/** Most lists that are remembered because they could not be removed. */
const MOST_STALE = 100;
const REMOVAL_MS = 1000;

const OTHER_SEPARATOR: Problem = {
  code: 'UNSAFE',
  sentence:
    "Workers use another separator than this monitor: set settings.broker_transport_options.sep to the app's value.",
};

interface MailboxState {
  readonly address: ControlAddress;
  /** For all commands that are answered at once. */
  readonly commands: RedisReader;
  /** Waits for replies. */
  readonly waiting: RedisReader;
  /** The requests that wait for replies, by ticket. */
  readonly listeners: Map<string, ReplyListener>;
  /** The id of the list that receives replies; `null` while none are expected. */
  current: Promise<string> | null;
  /** The same once workers may know the list. */
  bound: string | null;
  isReceiving: boolean;
  /** Some worker may still answer. */
  isPartial: boolean;
  /** Ids of lists to be removed, and until when a worker may create them again, in monotonic milliseconds. */
  readonly stale: Map<string, number>;
  /** Whether the Redis user may remove lists. */
  isRemovalProven: boolean;
  isSeparatorChecked: boolean;
  closed: boolean;
}

/** Nothing is connected before the first request. Then there are two connections. */
export function createRedisMailbox(endpoint: RedisEndpoint, settings: CelerySettings): Mailbox {
  const address = controlAddress(settings, endpoint.database);
  const state: MailboxState = {
    address,
    commands: createRedisReader('remote control', endpoint),
    waiting: createRedisReader('remote control replies', endpoint),
    listeners: new Map(),
    current: null,
    bound: null,
    isReceiving: false,
    isPartial: false,
    stale: new Map(),
    isRemovalProven: false,
    isSeparatorChecked: false,
    closed: false,
  };
  return {
    fault: address.fault === null ? null : { code: 'UNSAFE', sentence: address.fault },
    send: (request, timeoutMs, listener) => send(state, request, timeoutMs, listener),
    close: () => close(state),
  };
}

async function send(
  state: MailboxState,
  request: ControlRequest,
  timeoutMs: number,
  listener: ReplyListener,
): Promise<SentRequest> {
  const { address, listeners } = state;
  const { ticket } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  // While a request waits, its list stays.
  listeners.set(ticket, listener);
  try {
    const oid = await openList(state, signal);
    if (state.closed) throw controlFailureOf(null, 'SADD', address);
    const receivers = await publish(
      state,
      wrapRequest(request, address, { oid, deliveryTag: randomUUID() }),
      signal,
    );
    if (receivers > 0) void receive(state, oid);
    return { receivers, end: (isComplete) => leave(state, ticket, isComplete) };
  } catch (error) {
    leave(state, ticket, false);
    throw error;
  }
}

async function openList(state: MailboxState, signal: AbortSignal): Promise<string> {
  const opening = state.current ?? bind(state, signal);
  state.current = opening;
  try {
    return await opening;
  } catch (error) {
    if (state.current === opening) state.current = null;
    throw error;
  }
}

/** Makes a list known to workers. A user who may create a list but not remove it must not create one. */
async function bind(state: MailboxState, signal: AbortSignal): Promise<string> {
  const { address } = state;
  const oid = `${OID_PREFIX}${Date.now().toString(36)}.${randomUUID()}`;
  if (!state.isSeparatorChecked) await checkSeparator(state, signal);
  if (!state.isRemovalProven) {
    for (const command of removalOf(address, oid)) await attempt(state, command, signal);
    state.isRemovalProven = true;
    void removeAbandoned(state);
  }
  await removeStale(state);
  try {
    await attempt(state, ['SADD', address.bindingKey, address.member(oid)], signal);
  } catch (error) {
    // The command may have been executed although its reply was lost.
    if (state.stale.size < MOST_STALE) state.stale.set(oid, 0);
    throw error;
  }
  state.bound = oid;
  return oid;
}

/** @throws ControlFailure that says which right is missing */
async function attempt(
  { commands, address }: MailboxState,
  command: readonly [ControlRedisCommand, ...string[]],
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await commands.command(command, { signal });
  } catch (error) {
    throw controlFailureOf(error, command[0], address);
  }
}

/** A worker that cannot split a binding ends at its next reply, to any client. */
async function checkSeparator(state: MailboxState, signal: AbortSignal): Promise<void> {
  const { address } = state;
  const member = await attempt(state, ['SRANDMEMBER', address.listenersKey], signal);
  if (typeof member !== 'string') return;
  if (!address.isListener(member)) throw new ControlFailure(OTHER_SEPARATOR);
  state.isSeparatorChecked = true;
}

/** A worker listens on exactly one of the channels, so none receives a message twice. */
async function publish(state: MailboxState, message: string, signal: AbortSignal): Promise<number> {
  let receivers = 0;
  let refused: unknown = null;
  for (const channel of state.address.channels) {
    try {
      receivers += Number(await attempt(state, ['PUBLISH', channel, message], signal));
    } catch (error) {
      refused = error;
    }
  }
  if (refused !== null && receivers === 0) throw refused;
  return receivers;
}

async function receive(state: MailboxState, oid: string): Promise<void> {
  const { address, waiting, listeners } = state;
  if (state.isReceiving) return;
  state.isReceiving = true;
  try {
    while (listeners.size > 0) {
      const key = address.replyKey(oid);
      const popped = await waiting.command(['BRPOP', key, HOLD], { timeoutMs: HOLD_DEADLINE_MS });
      if (Array.isArray(popped) && typeof popped[1] === 'string') dispatch(state, popped[1]);
    }
  } catch (error) {
    state.isPartial = true;
    failAll(state, error);
  }
  state.isReceiving = false;
  await endList(state);
}

function dispatch({ listeners }: MailboxState, element: string): void {
  const reply = unwrapReply(element);
  // Not a reply, or one to a request that is over.
  if (reply === null) return;
  if (listeners.get(reply.ticket)?.onReply(reply) === true) listeners.delete(reply.ticket);
}

/** Reports to all requests that no further reply can arrive. */
function failAll({ listeners, address }: MailboxState, error: unknown): void {
  const waiting = [...listeners.values()];
  listeners.clear();
  for (const listener of waiting) listener.onLost(controlFailureOf(error, 'BRPOP', address));
}

function leave(state: MailboxState, ticket: string, isComplete: boolean): void {
  state.isPartial ||= !isComplete;
  state.listeners.delete(ticket);
  if (!state.isReceiving && state.listeners.size === 0) void endList(state);
}

/** Removes the list: now, again when no late reply can come any more, and if that fails before the next one is made. */
async function endList(state: MailboxState): Promise<void> {
  const { bound, isPartial, stale } = state;
  if (bound === null) return;
  state.current = null;
  state.bound = null;
  state.isPartial = false;
  stale.set(bound, isPartial ? performance.now() + LATE_MS : 0);
  await removeStale(state);
  if (isPartial) setTimeout(() => void removeStale(state), LATE_MS).unref();
}

function removalOf({ bindingKey, member, replyKey }: ControlAddress, oid: string) {
  return [
    ['SREM', bindingKey, member(oid)],
    ['DEL', replyKey(oid)],
  ] as const;
}

/** What cannot be removed is tried again. */
async function removeStale({ address, commands, stale }: MailboxState): Promise<void> {
  const removals = [...stale].map(async ([oid, until]) => {
    const begun = performance.now();
    await commands.commands(removalOf(address, oid), { timeoutMs: REMOVAL_MS });
    if (begun >= until) stale.delete(oid);
  });
  await Promise.allSettled(removals);
}

/** Removes keys of processes that ended while they waited for replies. */
async function removeAbandoned(state: MailboxState): Promise<void> {
  const { address, commands } = state;
  const options = { timeoutMs: REMOVAL_MS };
  const match = ['MATCH', `${escapeGlob(OID_PREFIX)}*`, 'COUNT', SCAN_COUNT];
  let cursor = '0';
  try {
    for (let step = 0; step < SCAN_STEPS && !state.closed; step += 1) {
      const reply = await commands.command(['SSCAN', address.bindingKey, cursor, ...match], options);
      const [next, members] = reply as [string, string[]];
      for (const oid of members.map(address.oidOf)) {
        if (oid !== null && isAbandoned(oid)) await commands.commands(removalOf(address, oid), options);
      }
      cursor = next;
      if (cursor === '0') return;
    }
  } catch {
    // Without the right to search, the lists of other processes stay.
  }
}

function isAbandoned(oid: string): boolean {
  const created = Number.parseInt(oid.slice(OID_PREFIX.length).split('.', 1)[0] ?? '', 36);
  return oid.startsWith(OID_PREFIX) && Date.now() - created > ABANDONED_MS;
}

async function close(state: MailboxState): Promise<void> {
  if (state.closed) return;
  state.closed = true;
  failAll(state, null);
  await state.current?.catch(() => {});
  state.isPartial = false;
  await endList(state);
  await Promise.all([removeStale(state), state.waiting.close()]);
  await state.commands.close();
}

/** The Redis commands that remote control uses. */
type ControlRedisCommand = 'SRANDMEMBER' | 'SADD' | 'SREM' | 'DEL' | 'PUBLISH' | 'BRPOP';

/** @param command the command that failed */
function controlFailureOf(
  error: unknown,
  command: ControlRedisCommand,
  address: ControlAddress,
): ControlFailure {
  if (error instanceof ControlFailure) return error;
  const { code, sentence } = describeError(error);
  if (code !== 'NOPERM') return new ControlFailure({ code, sentence });
  const missingRights = rightsFor(command, address);
  return new ControlFailure({
    code,
    sentence: `The Redis user may not ${command}, which remote control needs: ${missingRights}.`,
    missingRights,
  });
}

/** Rules of `ACL SETUSER` that allow the command on the keys and channels of remote control. */
function rightsFor(command: ControlRedisCommand, address: ControlAddress): string {
  const name = `+${command.toLowerCase()}`;
  if (command === 'PUBLISH') return [name, ...address.channels.map((channel) => `&${channel}`)].join(' ');
  if (command === 'SRANDMEMBER') return `${name} %R~${address.listenersKey}`;
  const isBinding = command === 'SADD' || command === 'SREM';
  return `${name} ~${isBinding ? address.bindingKey : address.replyKey('*')}`;
}
