/** A deployment as reported by the instance that collects. Nothing here connects to broker or result backend. */
import { MonitorError } from '../../../errors.ts';
import type { SharedTexts } from '../../../history/stored-history.ts';
import type { Component, HealthCheck, Queue } from '../../../model.ts';
import type { HealthSource, QueueSource, ScheduleSource, SourceStatus } from '../../../source.ts';
import type { Deployment } from '../answers.ts';
import type { Freshness } from '../collector.ts';
import {
  createWaitingRows,
  indexMessages,
  nextEtaOf,
  type WaitingIndex,
  type WaitingRows,
} from '../queues/waiting-messages.ts';
import type { Waiting } from '../queues/waiting-tasks.ts';
import {
  type HealthReport,
  KINDS,
  type ReportClock,
  readReport,
  type SchedulesReport,
  type StatusReport,
  type WaitingReport,
} from './reports.ts';

/** Where the reports are. */
interface PublishedOptions {
  /** Name of the source. */
  readonly name: string;
  readonly texts: SharedTexts;
  readonly clock: ReportClock;
}

/** Checks are made every 15 seconds and take five at most. */
const OLD_CHECK_MS = 30_000;

/** The parts of a deployment that have their own status. */
type StatusField = 'tasks' | 'workers' | 'queues' | 'schedules';

/** Everything is answered from reports. Without recent reports, nothing is shown as current. */
export function createPublishedDeployment(options: PublishedOptions): Deployment {
  const { texts, clock } = options;
  const status = (field: StatusField) => () => statusOf(clock, field);
  return {
    status: status('tasks'),
    workerStatus: status('workers'),
    waiting: createPublishedWaiting(remembered<WaitingReport>(texts, 'waiting')),
    queues: queueSource(options, status('queues')),
    schedules: scheduleSource(options, status('schedules')),
    health: healthSource(options),
    components: componentSource(options),
    sight() {
      const { blind, waiting } = clock.status()?.sight ?? { blind: null, waiting: null };
      return { blind: clock.silence() ?? blind, waiting };
    },
    withLookup: (tasks) => tasks,
    withInspection: (workers) => workers,
  };
}

/** Reads a text once for each change. */
function remembered<Report>(texts: SharedTexts, kind: keyof typeof KINDS): () => Report | null {
  let last: { readonly text: string | null; readonly report: Report | null } = { text: null, report: null };
  return () => {
    const text = texts.read(KINDS[kind]);
    if (text !== last.text) last = { text, report: text === null ? null : readReport<Report>(text) };
    return last.report;
  };
}

function statusOf(clock: ReportClock, field: StatusField): Freshness {
  const silence = clock.silence();
  const reported: StatusReport | null = clock.status();
  if (reported === null) return { ok: false, asOf: null, error: 'source_unavailable', reason: silence };
  if (silence === null) return reported[field];
  // The last report of an instance before it gave up says more than its silence.
  const reason = reported[field].reason ?? silence;
  return { ...reported[field], ok: false, error: 'source_unavailable', reason };
}

function queueSource({ name, texts, clock }: PublishedOptions, status: () => SourceStatus): QueueSource {
  const read = remembered<readonly Omit<Queue, 'asOf'>[]>(texts, 'queues');
  return {
    name,
    status,
    listQueues() {
      const asOf = clock.status()?.queues.asOf ?? null;
      return (read() ?? []).map((row) => ({ ...row, asOf }));
    },
  };
}

function scheduleSource(
  { name, texts, clock }: PublishedOptions,
  status: () => SourceStatus,
): ScheduleSource {
  const read = remembered<SchedulesReport>(texts, 'schedules');
  return {
    name,
    status,
    listSchedules() {
      const report = read();
      if (report !== null && report.error === null) return report.list;
      throw new MonitorError('source_unavailable', report?.error ?? clock.silence() ?? undefined);
    },
  };
}

function healthSource({ name, texts, clock }: PublishedOptions): HealthSource {
  const read = remembered<HealthReport>(texts, 'health');
  /** This instance does not look at the servers itself: without a recent report it does not know how they are. */
  function known(server: 'broker' | 'backend'): HealthCheck {
    const report = read();
    const silence = clock.silence() ?? uncheckedFor(clock.status());
    if (report === null) return { ok: null, error: silence ?? UNCHECKED };
    const check = report[server];
    // A check that is not configured stays so.
    return check.ok === null || silence === null ? check : { ok: null, error: silence };
  }
  return {
    name,
    checkBroker: () => known('broker'),
    checkBackend: () => known('backend'),
    checkWorkers() {
      const silence = clock.silence();
      const workers = read()?.workers ?? { responding: [], missing: [], ok: false, error: UNCHECKED };
      return workers.ok === null || silence === null ? workers : { ...workers, ok: false, error: silence };
    },
  };
}

const UNCHECKED = 'The instance that collects has not checked anything yet.';

/** Why the last checks are unreliable although reports arrive; `null`: they are recent. */
function uncheckedFor(status: StatusReport | null): string | null {
  if (status === null || status.checkedAt === null) return null;
  const age = status.at - status.checkedAt;
  if (age <= OLD_CHECK_MS) return null;
  return `The instance that collects last checked this ${Math.round(age / 1000)} seconds ago.`;
}

function componentSource({ name, texts, clock }: PublishedOptions): Deployment['components'] {
  const read = remembered<readonly Component[]>(texts, 'components');
  return {
    name,
    listComponents() {
      const components = [...(read() ?? [COLLECTOR])];
      const silence = clock.silence();
      return silence === null ? components : components.map((component) => silent(component, silence));
    },
  };
}

/** Shown while nothing else is known. */
const COLLECTOR: Component = {
  key: 'collector',
  name: 'Event collector',
  enabled: true,
  status: 'unknown',
  config: {},
};

/** A component without recent reports. */
function silent(component: Component, silence: string): Component {
  const { key, status, config } = component;
  if (key !== 'collector') return { ...component, status: status === 'up' ? 'unknown' : status };
  return { ...component, status: 'down', config: { ...config, error: config?.error ?? silence } };
}

const NOTHING: WaitingReport = { messages: [], isComplete: true, isRedacted: true };

interface State {
  readonly read: () => WaitingReport | null;
  report: WaitingReport | null;
  index: WaitingIndex;
  revision: number;
  etas: { readonly until: number; readonly at: Date | null };
}

/** @param read the report; another object whenever it has changed */
function createPublishedWaiting(read: () => WaitingReport | null): Waiting {
  const state: State = {
    read,
    report: null,
    index: indexMessages([]),
    revision: 0,
    etas: { until: Number.NEGATIVE_INFINITY, at: null },
  };
  return {
    asked() {},
    async ready() {},
    index: () => current(state).index,
    held: () => (current(state).report?.isComplete === false ? null : state.index),
    revision: () => current(state).revision,
    nextEta: () => nextEta(current(state)),
    rows: rowsOf(state),
  };
}

function current(state: State): State {
  const report = state.read() ?? NOTHING;
  if (report === state.report) return state;
  state.report = report;
  state.index = indexMessages(report.messages);
  state.revision += 1;
  state.etas = { until: Number.NEGATIVE_INFINITY, at: null };
  return state;
}

function rowsOf(state: State): WaitingRows {
  const redacted = createWaitingRows(null, true);
  const bare = createWaitingRows(null);
  const rows = (): WaitingRows => (state.report?.isRedacted === false ? bare : redacted);
  return { row: (message) => rows().row(message), detail: (message) => rows().detail(message) };
}

function nextEta(state: State): Date | null {
  const now = Date.now();
  if (now < state.etas.until) return state.etas.at;
  state.etas = nextEtaOf(state.index, now);
  return state.etas.at;
}
