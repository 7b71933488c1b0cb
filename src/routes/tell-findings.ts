/** Reports findings to the host: evaluates the rules periodically, and calls `onFinding`. */
import { MonitorError } from '../errors.ts';
import type { OnFinding } from '../findings/finding.ts';
import { createNotices, type DueNotice, type Notices } from '../findings/notices.ts';
import type { Monitor } from '../http/monitor.ts';
import type { ResolvedOptions } from '../options/resolve-options.ts';
import type { Report } from '../read.ts';
import { scheduler } from '../scheduler.ts';
import type { MonitorSources, SharedNotes } from '../source.ts';
import { settleInTime, waitFor } from '../waiting.ts';
import { type Findings, findingsOf } from './own-components.ts';
import { partsByName } from './situation.ts';

/** Time between two evaluations, in milliseconds. */
const EVERY_MS = 5_000;
/** Longest time for one call, in milliseconds. */
const CALL_MS = 30_000;
/** Maximum number of concurrent calls. */
const MOST_CALLS = 10;
/** How long `close` waits for calls in progress, in milliseconds. */
const CLOSE_MS = 250;

/** Reports the findings of one monitor. */
interface Teller {
  readonly monitor: Monitor;
  readonly onFinding: OnFinding;
  readonly groups: readonly FindingGroup[];
  readonly read: () => Promise<Findings>;
  /** Calls that are due, or in progress within their time limit. */
  readonly calls: Set<Promise<void>>;
  isClosed: boolean;
}

/** Starts the periodic evaluation if `onFinding` is set, until the monitor is closed. */
export function tellFindings(monitor: Monitor): void {
  const { options, sources, report } = monitor;
  const { onFinding } = options;
  if (onFinding === null) return;
  const groups = openGroups(sources, report);
  const read = findingsOf(monitor);
  const teller: Teller = { monitor, onFinding, groups, read, calls: new Set(), isClosed: false };
  let timer = setTimeout(lookAgain, EVERY_MS).unref();
  function lookAgain(): void {
    look(teller)
      .catch((error: unknown) => report(error, { code: null, source: null, call: 'findings' }))
      .finally(() => {
        if (!teller.isClosed) timer = setTimeout(lookAgain, EVERY_MS).unref();
      });
  }
  monitor.beforeClose(async () => {
    teller.isClosed = true;
    clearTimeout(timer);
    await waitFor(Promise.all(teller.calls), { ms: CLOSE_MS });
    for (const group of groups) group.close();
  });
}

async function look(teller: Teller): Promise<void> {
  const { groups, read, monitor } = teller;
  const ours = await Promise.all(groups.map((group) => group.prepare()));
  const acting = groups.filter((_group, index) => ours[index]);
  if (acting.length === 0 || teller.isClosed) return;
  const { evaluation } = await read();
  for (const group of acting) {
    // The results of reads during closing mean nothing.
    if (teller.isClosed) return;
    await scheduler.run('findings', group.notices.update(evaluation, monitor.serializer.finding));
    tellDue(teller, group);
  }
}

function tellDue(teller: Teller, group: FindingGroup): void {
  if (teller.isClosed || !group.isOurs()) return;
  const { calls } = teller;
  const due = group.notices.take(Date.now(), MOST_CALLS - calls.size);
  if (due.length === 0) return;
  // An instance that takes over now knows what to clear, and seldom repeats the call.
  const saved = group.save();
  for (const one of due) {
    const call = saved
      .then(() => tell(teller, group, one))
      .finally(() => {
        calls.delete(call);
        tellDue(teller, group);
      });
    calls.add(call);
  }
}

/** Calls the host, and waits for a limited time. Never rejects. */
async function tell(teller: Teller, group: FindingGroup, { notice, confirm }: DueNotice): Promise<void> {
  const { monitor, onFinding } = teller;
  if (teller.isClosed || !group.isOurs()) return;
  const context = { link: linkOf(monitor.options, notice.look) };
  const late = new MonitorError('source_timeout', `onFinding() did not end within ${CALL_MS} ms.`);
  // One that ends later still counts.
  const call = new Promise((resolve) => resolve(onFinding(notice, context))).then(confirm);
  try {
    await settleInTime(call, { ms: CALL_MS }, () => late);
    await group.save();
  } catch (error) {
    const code = error === late ? 'source_timeout' : 'source_invalid';
    monitor.report(error, { code, source: notice.source, call: 'onFinding' });
  }
}

/** The view of the page that shows the same as an API address, or that address if there is no page. */
function linkOf({ publicUrl, dashboard }: ResolvedOptions, look: string): string | null {
  if (publicUrl === null || publicUrl.startsWith('/')) return null;
  const base = publicUrl.replace(/\/+$/, '');
  if (dashboard === null) return base + look;
  const view = VIEWS.find(([path]) => look.startsWith(path));
  return view === undefined ? `${base}/#/system` : `${base}/#/${view[1]}${look.slice(view[0].length)}`;
}

/** Views of the page, by the corresponding route. */
const VIEWS: readonly (readonly [path: string, view: string])[] = [
  ['/api/tasks/', 'tasks'],
  ['/api/workers/', 'workers'],
  ['/api/beat/schedules/', 'schedules'],
];

/** Longest wait for a store, in milliseconds. */
const STORE_MS = 3_000;
/** If the reporting instance is unknown from the start, this instance reports after this time, in milliseconds. */
const ALONE_MS = 60_000;

/** The stored text while nothing was reported. */
const NOTHING_TOLD = '[]';

/** Findings that are reported by one instance. */
interface FindingGroup {
  readonly notices: Notices;
  /** Finds out whether this instance reports them to the host, and what was reported before. Never rejects. */
  prepare(): Promise<boolean>;
  /** Whether no other instance has taken over in the meantime. */
  isOurs(): boolean;
  /** Stores what was reported, for other instances. Resolves within 3 s, never rejects. */
  save(): Promise<void>;
  close(): void;
}

/** One group for each source with a store, and one for all others and for findings without a source, which is first. */
function openGroups(sources: MonitorSources, report: Report): readonly FindingGroup[] {
  const shared = new Map<string, SharedNotes>();
  for (const [name, { experimental }] of partsByName(sources)) {
    const notes = experimental?.openNotes?.();
    if (notes !== undefined) shared.set(name, notes);
  }
  const [first] = shared.keys();
  const groups = [...shared].map(([name, notes]) => {
    const covers = (source: string | null): boolean => source === name || (source === null && name === first);
    return createSharedGroup(name, notes, createNotices(covers), report);
  });
  const isOwn = (source: string | null): boolean =>
    source === null ? first === undefined : !shared.has(source);
  return [...groups, createOwnGroup(createNotices(isOwn))];
}

function createOwnGroup(notices: Notices): FindingGroup {
  return { notices, prepare: async () => true, isOurs: () => true, save: async () => {}, close() {} };
}

function createSharedGroup(name: string, notes: SharedNotes, notices: Notices, report: Report): FindingGroup {
  const openedAt = performance.now();
  /** Whether another instance was the last to report. */
  let isOthers = false;
  /** Whether this instance reports, as far as it knows. */
  let isActing = false;
  /** Whether the reports of other instances have been read. */
  let isRead = false;
  let written = NOTHING_TOLD;
  let saved = Promise.resolve();
  const fail = (error: unknown): void =>
    report(error, { code: 'source_unavailable', source: name, call: 'openNotes' });

  async function read(): Promise<void> {
    const text = await notes.read();
    if (text !== null) notices.takeIn(text);
    written = text ?? NOTHING_TOLD;
    isRead = true;
  }

  async function write(): Promise<void> {
    const text = notices.text();
    if (text === written || notes.isHolder() === false) return;
    await notes.write(text);
    written = text;
  }

  function save(): Promise<void> {
    saved = saved.then(write).catch(fail);
    return waitFor(saved, { ms: STORE_MS });
  }

  return {
    notices,
    async prepare() {
      const isHolder = notes.isHolder();
      // Until the holder is known again, other instances may report.
      if (isHolder !== true) isRead = false;
      if (isHolder !== null) isOthers = !isHolder;
      if (isOthers) {
        isActing = false;
        notices.clear();
      } else if (isHolder === null) isActing ||= performance.now() - openedAt >= ALONE_MS;
      else {
        if (!isRead) await waitFor(read().catch(fail), { ms: STORE_MS });
        isActing ||= isRead;
        // Also what could not be written before.
        if (isRead) await save();
      }
      return isActing;
    },
    isOurs: () => notes.isHolder() !== false,
    save,
    close: () => notes.close(),
  };
}
