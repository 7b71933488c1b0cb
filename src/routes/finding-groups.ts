/** Which findings this instance reports to the host: those of sources without a store or whose lease it holds. */
import { createNotices, type Notices } from '../findings/notices.ts';
import type { Report } from '../read.ts';
import type { MonitorSources, SharedNotes } from '../source.ts';
import { waitFor } from '../waiting.ts';
import { partsByName } from './situation.ts';

/** Longest wait for a store, in milliseconds. */
const STORE_MS = 3_000;
/** If the reporting instance is unknown from the start, this instance reports after this time, in milliseconds. */
const ALONE_MS = 60_000;

/** Findings that are reported by one instance. */
export interface FindingGroup {
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
export function openGroups(sources: MonitorSources, report: Report): readonly FindingGroup[] {
  const shared = new Map<string, SharedNotes>();
  for (const [name, { history }] of partsByName(sources)) {
    const notes = history?.openNotes?.();
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
  const fail = (error: unknown): void =>
    report(error, { code: 'source_unavailable', source: name, call: 'openNotes' });
  const record = createRecord(notes, notices, fail);
  /** Whether another instance was the last to report. */
  let isOthers = false;
  /** Whether this instance reports, as far as it knows. */
  let wasOurs = false;
  return {
    notices,
    async prepare() {
      const isHolder = notes.isHolder();
      // Until the holder is known again, other instances may report.
      if (isHolder !== true) record.isRead = false;
      isOthers = isHolder === null ? isOthers : !isHolder;
      if (isOthers) {
        wasOurs = false;
        notices.clear();
      } else if (isHolder === null) wasOurs ||= performance.now() - openedAt >= ALONE_MS;
      else {
        await record.refresh();
        wasOurs ||= record.isRead;
      }
      return wasOurs;
    },
    isOurs: () => notes.isHolder() !== false,
    save: record.save,
    close: () => notes.close(),
  };
}

/** The stored record of what was reported. */
interface NoticeRecord {
  /** Whether the reports of other instances have been read. */
  isRead: boolean;
  /** Reads the reports of other instances if necessary, and retries a write that failed. */
  refresh(): Promise<void>;
  save(): Promise<void>;
}

function createRecord(notes: SharedNotes, notices: Notices, fail: (error: unknown) => void): NoticeRecord {
  let isUnsaved = false;
  let saving: Promise<void> | null = null;

  async function write(): Promise<void> {
    while (isUnsaved) {
      isUnsaved = false;
      try {
        await notes.write(notices.text());
      } catch (error) {
        isUnsaved = true;
        throw error;
      }
    }
  }

  async function read(): Promise<void> {
    const text = await notes.read();
    if (text !== null) notices.takeIn(text);
    record.isRead = true;
  }

  const record: NoticeRecord = {
    isRead: false,
    async refresh() {
      if (!record.isRead) await waitFor(read().catch(fail), { ms: STORE_MS });
      if (isUnsaved && record.isRead) await record.save();
    },
    save() {
      isUnsaved = true;
      saving ??= write()
        .catch(fail)
        .finally(() => {
          saving = null;
        });
      return waitFor(saving, { ms: STORE_MS });
    },
  };
  return record;
}
