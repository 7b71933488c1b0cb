/** A result backend made of arrays: no server, no connection, no Redis. */
import type {
  PublishedHandlers,
  PublishedResults,
  ResultBackend,
  StoredResults,
  StoredText,
  StoredValue,
} from '../../src/sources/celery/result-backend.ts';

/** What the result backend holds. */
export interface StoredArrays {
  /** Results that are published when somebody begins to listen, in this order. */
  readonly published: readonly StoredValue[];
  /** Stored results of tasks. */
  readonly tasks: readonly StoredValue[];
  /** Stored groups. */
  readonly groups: readonly StoredText[];
}

/** Stored results per step of a scan. */
const STEP = 50;

/** A result backend whose arrays may change while it is read. */
export interface ArrayResultBackend extends ResultBackend {
  /** Reports what happens to whoever listens; nobody yet: `null`. */
  readonly listener: () => PublishedHandlers | null;
}

/** @param arrays what it holds */
export function createArrayResultBackend(arrays: StoredArrays): ArrayResultBackend {
  const now = Date.now();
  let state: ReturnType<PublishedResults['state']> = {
    up: false,
    asOf: null,
    since: null,
    reconnects: 0,
    problem: null,
  };
  let listener: PublishedHandlers | null = null;
  return {
    listener: () => listener,
    published: {
      channels: [],
      start(handlers) {
        state = { ...state, up: true, asOf: now, since: now };
        listener = handlers;
        publish(handlers, arrays.published);
      },
      state: () => state,
    },
    stored: storedIn(arrays),
    check: async () => null,
    describe: () => ({ url: null, config: { transport: 'arrays' } }),
    deniedHint: () => null,
    close: async () => {},
  };
}

function publish(handlers: PublishedHandlers, published: readonly StoredValue[]): void {
  handlers.up(false);
  for (const { id, text } of published) handlers.task(text, id);
}

function storedIn({ tasks, groups }: StoredArrays): StoredResults {
  let requests = 0;
  return {
    async size() {
      requests += 1;
      return tasks.length + groups.length;
    },
    async scan(from, select) {
      requests += 1;
      const start = Number(from ?? 0);
      const found = tasks.slice(start, start + STEP);
      const wanted = new Set(await select(found.map(({ id }) => id)));
      const next = start + STEP < tasks.length ? String(start + STEP) : null;
      return {
        next,
        taskCount: found.length,
        parts: partsOf(
          found.filter(({ id }) => wanted.has(id)),
          next === null ? groups : [],
        ),
      };
    },
    async *find(ids) {
      requests += 1;
      const wanted = new Set(ids);
      yield tasks.filter(({ id }) => wanted.has(id));
    },
    requests: () => requests,
  };
}

async function* partsOf(tasks: readonly StoredValue[], groups: readonly StoredText[]) {
  yield { tasks, groups };
}
