/** Texts by kind that instances share: one publishes them, the others keep a copy that is read again when it changes. */
import type { SnapshotStore } from '../store.ts';
import type { StoreCalls } from './store-calls.ts';

/** The texts known to this instance. */
export interface TextCopies {
  /** Replaces a text. It is shown at once, and written with the next {@link TextCopies.write}. */
  publish(kind: string, text: string): void;
  /** `null`: not published. */
  read(kind: string): string | null;
  /** Grows with each change that {@link TextCopies.read} shows. */
  revision(): number;
  /** Writes the texts that were published since the last time. */
  write(store: SnapshotStore): Promise<void>;
  /** Reads the texts that others have written since the last time. @returns their kinds */
  refresh(store: SnapshotStore): Promise<ReadonlySet<string>>;
}

/** @returns no texts */
export function createTextCopies(calls: StoreCalls): TextCopies {
  const texts = new Map<string, string>();
  const unwritten = new Map<string, string>();
  const known = new Map<string, number>();
  let revision = 0;

  function set(kind: string, text: string): boolean {
    if (texts.get(kind) === text) return false;
    texts.set(kind, text);
    revision++;
    return true;
  }

  return {
    publish(kind, text) {
      if (set(kind, text)) unwritten.set(kind, text);
    },
    read: (kind) => texts.get(kind) ?? null,
    revision: () => revision,
    async write(store) {
      if (unwritten.size === 0) return;
      const written = new Map(unwritten);
      await calls.ask('write', () => store.write(written));
      for (const [kind, text] of written) if (unwritten.get(kind) === text) unwritten.delete(kind);
    },
    async refresh(store) {
      const revisions = await calls.ask('copy', () => store.revisions());
      const changed = [...revisions].filter(
        ([kind, number]) => known.get(kind) !== number && !unwritten.has(kind),
      );
      if (changed.length === 0) return NONE;
      const read = await calls.ask('copy', () => store.read(changed.map(([kind]) => kind)));
      for (const [kind, text] of read) set(kind, text);
      for (const [kind, number] of changed) known.set(kind, number);
      return new Set(read.keys());
    },
  };
}

const NONE: ReadonlySet<string> = new Set();
