/** Tasks that wait in queues, as another instance reports them. */
import { indexMessages, nextEtaOf, type WaitingIndex } from '../queues/waiting-index.ts';
import { createWaitingRows, type WaitingRows } from '../queues/waiting-rows.ts';
import type { Waiting } from '../queues/waiting-tasks.ts';
import type { WaitingReport } from './reports.ts';

const NOTHING: WaitingReport = { messages: [], isComplete: true, isRedacted: true };

interface State {
  readonly read: () => WaitingReport | null;
  report: WaitingReport | null;
  index: WaitingIndex;
  revision: number;
  etas: { readonly until: number; readonly at: Date | null };
}

/** @param read the report; another object whenever it has changed */
export function createPublishedWaiting(read: () => WaitingReport | null): Waiting {
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
