/** Which findings this instance tells the host of: those of sources without a store, and those of which it holds the lease. */
import { createNotices, type NoticePace, type Notices } from '../findings/notices.ts';
import type { Report } from '../read.ts';
import type { MonitorSources, SharedNotes } from '../source.ts';
import { waitFor } from '../waiting.ts';
import { partsByName } from './situation.ts';

/** Longest wait for a store, in milliseconds. */
const STORE_MS = 3_000;

/** Findings that one instance tells of. */
export interface FindingGroup {
  readonly notices: Notices;
  /** Finds out whether this instance tells the host of them, and what was told before. Never rejects. */
  prepare(): Promise<boolean>;
  /** Whether no other instance has taken over since. */
  isOurs(): boolean;
  /** Keeps what was told for other instances. Resolves within 3 s, never rejects. */
  save(): Promise<void>;
  close(): void;
}

/** When findings are told. */
export interface GroupPace extends NoticePace {
  /** An instance that has never known who tells does so itself after this time, in milliseconds. */
  readonly aloneMs: number;
}

/** What {@link openGroups} needs. */
export interface GroupOptions {
  readonly sources: MonitorSources;
  readonly report: Report;
  readonly pace: GroupPace;
}

/** One group for each source with a store, and one for all others. Findings of no source belong to the first. */
export function openGroups(options: GroupOptions): readonly FindingGroup[] {
  const shared = new Map<string, SharedNotes>();
  for (const [name, { history }] of partsByName(options.sources)) {
    const notes = history?.openNotes?.();
    if (notes !== undefined) shared.set(name, notes);
  }
  const [first] = shared.keys();
  const groups = [...shared].map(([name, notes]) => {
    const covers = (source: string | null): boolean => source === name || (source === null && name === first);
    return createSharedGroup(name, notes, createNotices(covers, options.pace), options);
  });
  const isOwn = (source: string | null): boolean =>
    source === null ? first === undefined : !shared.has(source);
  return [...groups, createOwnGroup(createNotices(isOwn, options.pace))];
}

function createOwnGroup(notices: Notices): FindingGroup {
  return { notices, prepare: async () => true, isOurs: () => true, save: async () => {}, close() {} };
}

function createSharedGroup(
  name: string,
  notes: SharedNotes,
  notices: Notices,
  { report, pace: { aloneMs } }: GroupOptions,
): FindingGroup {
  const openedAt = performance.now();
  const fail = (error: unknown): void =>
    report(error, { code: 'source_unavailable', source: name, call: 'openNotes' });
  const record = createRecord(notes, notices, fail);
  /** Whether another instance told last. */
  let isOthers = false;
  /** Whether this instance did, as far as it knows. */
  let wasOurs = false;
  return {
    notices,
    async prepare() {
      const isHolder = notes.isHolder();
      // Others may tell until it is known again.
      if (isHolder !== true) record.isRead = false;
      isOthers = isHolder === null ? isOthers : !isHolder;
      if (isOthers) {
        wasOurs = false;
        notices.clear();
      } else if (isHolder === null) wasOurs ||= performance.now() - openedAt >= aloneMs;
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

/** What was told, in the store. */
interface NoticeRecord {
  /** Whether it is known what others have told. */
  isRead: boolean;
  /** Reads what others have told, unless it is known, and writes what could not be written before. */
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
