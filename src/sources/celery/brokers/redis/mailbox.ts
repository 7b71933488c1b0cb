/**
 * Remote control over Redis (kombu/pidbox.py): requests are published, replies arrive in a list. A list exists
 * only while replies are expected; concurrent requests share it.
 */
import { randomUUID } from 'node:crypto';
import { createRedisReader } from '../../../../redis/connection-reader.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import type { ControlRequest, Mailbox, ReplyListener, SentRequest } from '../../broker.ts';
import { ControlFailure, type ControlProblem } from '../../control/failure.ts';
import type { CelerySettings } from '../../settings.ts';
import { type ControlAddress, controlAddress } from './control-address.ts';
import { unwrapReply, wrapRequest } from './control-envelope.ts';
import { controlFailureOf } from './control-failure.ts';
import {
  closeLeftovers,
  createLeftovers,
  type Leftovers,
  prepareRemoval,
  rememberList,
  removeList,
} from './leftovers.ts';
import { failListeners, newReplyList, type ReplyList } from './reply-list.ts';

/**
 * Seconds that a BRPOP blocks before it is sent again: a whole number, for Redis before 6, and a small one,
 * because a connection without an answer for three seconds counts as lost.
 */
const HOLD = '1';
const HOLD_DEADLINE_MS = 3000;
/** A list that is older than this takes no more requests, so that no list lives for ever. */
const MAX_AGE_MS = 5 * 60_000;

const OTHER_SEPARATOR: ControlProblem = {
  code: 'UNSAFE',
  sentence:
    "Workers use another separator than this monitor: set settings.broker_transport_options.sep to the app's value.",
  missingRights: null,
};

interface MailboxState {
  readonly address: ControlAddress;
  /** For all commands that are answered at once. */
  readonly commands: RedisReader;
  /** Waits for replies. */
  readonly waiting: RedisReader;
  readonly leftovers: Leftovers;
  /** The list that new requests use; `null` while no replies are expected. */
  current: Promise<ReplyList> | null;
  /** The list that was opened last, until it has been removed. */
  latest: ReplyList | null;
  isSeparatorChecked: boolean;
  closed: boolean;
}

/** Nothing is connected before the first request. Then there are two connections. */
export function createRedisMailbox(endpoint: RedisEndpoint, settings: CelerySettings): Mailbox {
  const address = controlAddress(settings, endpoint.database);
  const commands = createRedisReader('remote control', endpoint);
  const state: MailboxState = {
    address,
    commands,
    waiting: createRedisReader('remote control replies', endpoint),
    leftovers: createLeftovers(address, commands),
    current: null,
    latest: null,
    isSeparatorChecked: false,
    closed: false,
  };
  return {
    fault: address.fault === null ? null : { code: 'UNSAFE', sentence: address.fault, missingRights: null },
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
  const { ticket } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const list = await join(state, ticket, listener, signal);
  try {
    const ids = { oid: list.oid, deliveryTag: randomUUID() };
    const receivers = await publish(state, wrapRequest(request, state.address, ids), signal);
    if (receivers > 0) void receive(state, list);
    return { receivers, end: (isComplete) => leave(state, list, ticket, isComplete) };
  } catch (error) {
    leave(state, list, ticket, false);
    throw error;
  }
}

async function join(
  state: MailboxState,
  ticket: string,
  listener: ReplyListener,
  signal: AbortSignal,
): Promise<ReplyList> {
  for (;;) {
    const opening = state.current ?? open(state, signal);
    state.current = opening;
    let list: ReplyList;
    try {
      list = await opening;
    } catch (error) {
      if (state.current === opening) state.current = null;
      throw error;
    }
    if (state.closed) throw controlFailureOf(null, 'SADD', state.address);
    if (list.isOver) continue;
    if (performance.now() - list.openedAt < MAX_AGE_MS) {
      list.listeners.set(ticket, listener);
      return list;
    }
    await list.removed;
  }
}

async function open(state: MailboxState, signal: AbortSignal): Promise<ReplyList> {
  const { address, commands, leftovers } = state;
  if (!state.isSeparatorChecked) await checkSeparator(state, signal);
  const list = newReplyList();
  await prepareRemoval(leftovers, list.oid, signal);
  try {
    await commands.command(['SADD', address.bindingKey, address.member(list.oid)], { signal });
  } catch (error) {
    // The command may have been executed although its reply was lost.
    rememberList(leftovers, list.oid);
    throw controlFailureOf(error, 'SADD', address);
  }
  state.latest = list;
  return list;
}

/** A worker that cannot split a binding ends at its next reply, to any client. */
async function checkSeparator(state: MailboxState, signal: AbortSignal): Promise<void> {
  const { address, commands } = state;
  let member: unknown;
  try {
    member = await commands.command(['SRANDMEMBER', address.listenersKey], { signal });
  } catch (error) {
    throw controlFailureOf(error, 'SRANDMEMBER', address);
  }
  if (typeof member !== 'string') return;
  if (!address.isListener(member)) throw new ControlFailure(OTHER_SEPARATOR);
  state.isSeparatorChecked = true;
}

/** A worker listens on exactly one of the channels, so none receives a message twice. */
async function publish({ address, commands }: MailboxState, message: string, signal: AbortSignal) {
  let receivers = 0;
  let refused: unknown = null;
  for (const channel of address.channels) {
    try {
      receivers += Number(await commands.command(['PUBLISH', channel, message], { signal }));
    } catch (error) {
      refused = error;
    }
  }
  if (refused !== null && receivers === 0) throw controlFailureOf(refused, 'PUBLISH', address);
  return receivers;
}

async function receive(state: MailboxState, list: ReplyList): Promise<void> {
  if (list.isReceiving) return;
  list.isReceiving = true;
  const key = state.address.replyKey(list.oid);
  try {
    while (list.listeners.size > 0) {
      const popped = await state.waiting.command(['BRPOP', key, HOLD], { timeoutMs: HOLD_DEADLINE_MS });
      if (Array.isArray(popped) && typeof popped[1] === 'string') dispatch(list, popped[1]);
    }
  } catch (error) {
    list.isPartial = true;
    failListeners(list, controlFailureOf(error, 'BRPOP', state.address));
  }
  await dispose(state, list);
}

function dispatch({ listeners }: ReplyList, element: string): void {
  const reply = unwrapReply(element);
  // Not a reply, or one to a request that is over.
  if (reply === null) return;
  if (listeners.get(reply.ticket)?.onReply(reply) === true) listeners.delete(reply.ticket);
}

function leave(state: MailboxState, list: ReplyList, ticket: string, isComplete: boolean): void {
  list.isPartial ||= !isComplete;
  list.listeners.delete(ticket);
  if (!list.isReceiving && list.listeners.size === 0) void dispose(state, list);
}

async function dispose(state: MailboxState, list: ReplyList): Promise<void> {
  list.isOver = true;
  state.current = null;
  await removeList(state.leftovers, list.oid, list.isPartial);
  if (state.latest === list) state.latest = null;
  list.settleRemoved();
}

async function close(state: MailboxState): Promise<void> {
  if (state.closed) return;
  state.closed = true;
  await state.current?.catch(() => {});
  const list = state.latest;
  if (list !== null) {
    failListeners(list, controlFailureOf(null, 'BRPOP', state.address));
    await removeList(state.leftovers, list.oid, false);
  }
  await Promise.all([closeLeftovers(state.leftovers), state.waiting.close()]);
  await state.commands.close();
}
