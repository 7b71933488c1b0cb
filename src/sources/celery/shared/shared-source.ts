/** Celery sources that keep their history in a store, which other instances may share. */
import { hostname } from 'node:os';
import { withStoreComponent } from '../../../history/store-parts.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import type { Component, HealthCheck } from '../../../model.ts';
import type { ComponentSource, SourcePart, SourceStatus } from '../../../source.ts';
import { type CeleryParts, createAnswers } from '../answers.ts';
import { type ClosableParts, closable } from '../celery-source.ts';
import { type Live, type LiveOptions, openLive } from '../live.ts';
import { createPublishedDeployment } from '../published/published-deployment.ts';
import { createPublisher } from '../published/publisher.ts';
import { createReportClock, type ReportClock } from '../published/report-clock.ts';
import { keptTasks } from '../results/kept-tasks.ts';
import { createLeading, type Leading } from './leading.ts';

/** The parts of a source that one instance at a time collects. */
export interface LedSourceOptions {
  readonly name: string;
  readonly history: StoredHistory;
  /** Connects and returns what to collect, at the beginning of each term; `null`: this instance never collects. */
  readonly connect: (() => LiveOptions) | null;
  /** Whether the broker counts consumers of its own. */
  readonly hasConsumers: boolean;
}

/** A source that collects while it holds the lease of the history, and otherwise shows the reports of the holder. */
export function createLedSource({ name, history, connect, hasConsumers }: LedSourceOptions): ClosableParts {
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
  const leading: Leading<LedTerm> | null =
    connect === null
      ? null
      : createLeading({ history, open: () => openTerm(connect(), { history, clock, leader }) });
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
function answering(leading: Leading<LedTerm> | null, published: CeleryParts, clock: ReportClock): Answering {
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

/** The parts of the source that a term uses. */
interface TermContext {
  readonly history: StoredHistory;
  readonly clock: ReportClock;
  readonly leader: string;
}

function openTerm(options: LiveOptions, { history, clock, leader }: TermContext): LedTerm {
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
