/** Celery sources that keep their history in a store, which other instances may share. */
import { hostname } from 'node:os';
import { debugChannel } from '../../../debug.ts';
import { withStoreComponent } from '../../../history/store-parts.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import type { Component, HealthCheck } from '../../../model.ts';
import type { ComponentSource, SourcePart, SourceStatus } from '../../../source.ts';
import { type CeleryParts, createAnswers } from '../answers.ts';
import { type ClosableParts, closable, type Live, type LiveOptions, openLive } from '../celery-source.ts';
import { createPublishedDeployment } from '../published/published-deployment.ts';
import { createPublisher } from '../published/publisher.ts';
import { createReportClock, type ReportClock } from '../published/reports.ts';
import { keptTasks } from '../results/kept-tasks.ts';

/** A source that collects while it holds the lease of the history, and otherwise shows the reports of the holder. */
export function createLedSource({
  name,
  history,
  connect,
  hasConsumers,
}: {
  readonly name: string;
  readonly history: StoredHistory;
  /** Connects and returns what to collect, at the beginning of each term; `null`: this instance never collects. */
  readonly connect: (() => LiveOptions) | null;
  /** Whether the broker counts consumers of its own. */
  readonly hasConsumers: boolean;
}): ClosableParts {
  // Messages before another instance took over were not received. That instance has recorded the gap itself.
  const clock = createReportClock(history.texts, () => {
    if (leading?.term() == null) history.writer.recordGap();
  });
  const leader = `${hostname()} (${process.pid})`;
  const published = createAnswers(
    name,
    history.reader,
    createPublishedDeployment({ name, texts: history.texts, clock }),
  );
  const leading: ReturnType<typeof createLeading> | null =
    connect === null ? null : createLeading(history, () => openTerm(connect(), history, clock, leader));
  if (leading === null) history.wantLease(false);
  const parts = switchedParts(name, () => answering(leading, published, clock));
  const components = withLeader(parts.components, () =>
    leading?.term() == null ? { leads: false, leader: leaderOf(clock) } : { leads: true, leader },
  );
  const meter = { history, hasConsumers };
  const shared = {
    ...parts,
    components: withStoreComponent(components, history),
    experimental: { ...parts.experimental, openNotes: history.openNotes },
  };
  return closable(shared, meter, async () => {
    await leading?.close();
    clock.close();
    await history.close();
  });
}

/** Until a new leader has reached its servers, it shows the reports of the previous one, while they are recent. */
function answering(
  leading: ReturnType<typeof createLeading> | null,
  published: CeleryParts,
  clock: ReportClock,
): Answering {
  const term = leading?.term() ?? null;
  const changes = 2 * (leading?.changes() ?? 0);
  return term !== null && (term.hasListened() || clock.silence() !== null)
    ? { parts: term.parts, term: changes + 1 }
    : { parts: published, term: changes };
}

/** A term of this instance as the leader. */
interface LedTerm extends Live {
  /** Whether it has ever received messages. */
  hasListened(): boolean;
}

function openTerm(options: LiveOptions, history: StoredHistory, clock: ReportClock, leader: string): LedTerm {
  const before = clock.status();
  // No instance has received messages since the previous leader gave up.
  if (before !== null) history.writer.recordGap();
  const live = openLive({ ...options, kept: keptTasks(history) }, history);
  const { deployment, parts } = live;
  const publisher = createPublisher({ deployment, parts, texts: history.texts, leader, before });
  let hasListened = false;
  return {
    ...live,
    hasListened() {
      hasListened ||= live.isListening();
      return hasListened;
    },
    async close() {
      publisher.close();
      await live.close();
    },
  };
}

/** The instance that collects; `null` while unknown. */
function leaderOf(clock: ReportClock): string | null {
  return clock.silence() === null ? (clock.status()?.leader ?? null) : null;
}

/** Adds the collecting instance to the component of the collector. */
function withLeader(
  components: ComponentSource,
  role: () => { readonly leads: boolean; readonly leader: string | null },
): ComponentSource {
  const labelled = (component: Component): Component =>
    component.key === 'collector' ? { ...component, config: { ...component.config, ...role() } } : component;
  return {
    ...components,
    listComponents: async (context) => (await components.listComponents(context)).map(labelled),
  };
}

/** The present origin of answers. */
interface Answering {
  readonly parts: CeleryParts;
  /** Changes whenever `parts` are replaced. */
  readonly term: number;
}

const NOT_CONFIGURED: HealthCheck = { ok: null, error: null };
const NO_WORKERS = { ...NOT_CONFIGURED, responding: [], missing: [] };

/** @param now is asked with every read */
function switchedParts(name: string, now: () => Answering): CeleryParts {
  const part = <Name extends keyof CeleryParts>(key: Name) => ({ name, status: () => statusOf(now(), key) });
  return {
    tasks: {
      ...part('tasks'),
      knowsConditions: true,
      listTasks: (query, context) => now().parts.tasks.listTasks(query, context),
      getTask: (id, context) => now().parts.tasks.getTask(id, context),
      getTaskTree: (id, context) => now().parts.tasks.getTaskTree(id, context),
      getTaskStats: (query, context) => now().parts.tasks.getTaskStats(query, context),
    },
    workers: { ...part('workers'), listWorkers: (context) => now().parts.workers.listWorkers(context) },
    events: {
      ...part('events'),
      listEvents: (query, context) => now().parts.events.listEvents(query, context),
    },
    history: { name, getHistoryStats: (context) => now().parts.history.getHistoryStats(context) },
    experimental: {
      ...part('experimental'),
      getActivity: (context) => now().parts.experimental.getActivity(context),
    },
    queues: { ...part('queues'), listQueues: (context) => now().parts.queues.listQueues(context) },
    schedules: {
      ...part('schedules'),
      listSchedules: (context) => now().parts.schedules.listSchedules(context),
    },
    health: {
      name,
      checkBroker: (context) => now().parts.health.checkBroker?.(context) ?? NOT_CONFIGURED,
      checkBackend: (context) => now().parts.health.checkBackend?.(context) ?? NOT_CONFIGURED,
      checkWorkers: (context) => now().parts.health.checkWorkers?.(context) ?? NO_WORKERS,
    },
    components: { name, listComponents: (context) => now().parts.components.listComponents(context) },
  };
}

/** Revisions of different terms are not comparable. */
function statusOf({ parts, term }: Answering, key: keyof CeleryParts): SourceStatus {
  const part: SourcePart = parts[key];
  const status = part.status?.() ?? { ok: true, asOf: new Date() };
  const { revision } = status;
  return revision === undefined ? status : { ...status, revision: `${term}:${revision}` };
}

const debug = debugChannel('celery');

const INTERVAL_MS = 500;
/** How long a leader tries to reach the broker before it gives the lease up, in milliseconds. */
const PATIENCE_MS = 3_000;
/** How long it then leaves the lease to others, and the maximum after several failures, in milliseconds. */
const REST_MS = 3_000;
const LONGEST_REST_MS = 30_000;

interface LeadingState {
  readonly history: StoredHistory;
  /** Begins to collect. */
  readonly open: () => LedTerm;
  /** `null`: this instance is not the leader. */
  term: LedTerm | null;
  changes: number;
  /** When the broker last answered this instance, or when it began to lead; monotonic, in milliseconds. */
  listenedAt: number;
  /** Until when the lease is left to others; `null`: it is wanted. */
  restsUntil: number | null;
  /** The length of the next rest. */
  restMs: number;
  /** Whether the store has ever said who holds the lease. */
  hasKnownHolder: boolean;
  isClosed: boolean;
  /** Changes of the role, one after the other. */
  settled: Promise<void>;
}

/**
 * Selects the instance that collects: the holder of the lease of the history. Only this instance is connected to broker
 * and result backend, and it reports to the others. If it cannot reach the broker, it gives the lease up. Requests the
 * lease at once.
 */
function createLeading(history: StoredHistory, open: () => LedTerm) {
  const state: LeadingState = {
    history,
    open,
    term: null,
    changes: 0,
    listenedAt: 0,
    restsUntil: null,
    restMs: REST_MS,
    hasKnownHolder: false,
    isClosed: false,
    settled: Promise.resolve(),
  };
  const stopListening = history.onLease(() => void settle(state));
  const timer = setInterval(() => look(state), INTERVAL_MS).unref();
  history.wantLease(true);
  void settle(state);
  return {
    /** The work of this instance as the leader; `null`: it is not the leader. */
    term: () => state.term,
    /** Increases with each beginning and each end of a term. */
    changes: () => state.changes,
    async close() {
      state.isClosed = true;
      clearInterval(timer);
      stopListening();
      await settle(state);
    },
  };
}

function look(state: LeadingState): void {
  const { term, restsUntil, history } = state;
  const now = performance.now();
  if (restsUntil !== null && now >= restsUntil) {
    state.restsUntil = null;
    history.wantLease(true);
  }
  if (term?.isListening() === true) {
    state.listenedAt = now;
    state.restMs = REST_MS;
  } else if (term !== null && restsUntil === null && now - state.listenedAt > PATIENCE_MS) giveUp(state, now);
  void settle(state);
}

/** Gives the lease up. If several instances cannot reach the broker, each pauses longer and longer. */
function giveUp(state: LeadingState, now: number): void {
  const { history } = state;
  if (!history.hasOthers()) return;
  state.restsUntil = now + state.restMs * (1 + Math.random());
  state.restMs = Math.min(2 * state.restMs, LONGEST_REST_MS);
  history.wantLease(false);
}

/** Sets the role by the lease. */
function settle(state: LeadingState): Promise<void> {
  state.settled = state.settled.then(() => follow(state));
  return state.settled;
}

/**
 * A leader continues while the holder of the lease is unknown, and an instance that starts without the store begins: it
 * is probably unreachable for all instances, and two collectors do no harm.
 */
function mayLead(state: LeadingState): boolean {
  const { isClosed, restsUntil, term, history } = state;
  if (isClosed || restsUntil !== null) return false;
  const { isHolder, error } = history.status();
  state.hasKnownHolder ||= isHolder !== null;
  if (isHolder !== null) return isHolder;
  return term !== null || (!state.hasKnownHolder && error !== null);
}

/** A failure is not kept: the next check tries again. */
async function follow(state: LeadingState): Promise<void> {
  const leads = mayLead(state);
  try {
    if (leads && state.term === null) await begin(state);
    else if (!leads && state.term !== null) await end(state, state.term);
  } catch (error) {
    debug('the role could not change: %o', error);
  }
}

async function begin(state: LeadingState): Promise<void> {
  const { history, open } = state;
  await history.setHearing('all');
  state.listenedAt = performance.now();
  state.term = open();
  state.changes += 1;
}

async function end(state: LeadingState, term: LedTerm): Promise<void> {
  state.term = null;
  state.changes += 1;
  await term.close();
  if (!state.isClosed) await state.history.setHearing('nothing');
}
