/** Options that all stores have. */
import { readBoolean, readGroup, readInteger, refuseUnknownKeys, wrongOption } from '../check-options.ts';
import type { StoreRetention } from '../history/store.ts';
import { isRecord } from '../values.ts';

/** For how long a store keeps what is written. */
export interface StoreRetentionOptions {
  /** Days for which ended tasks and their relations are kept. 1 to 3,650. Default 7. */
  readonly taskDays?: number;
  /** Days for which the counts behind charts are kept. 1 to 3,650. Default 90. */
  readonly rollupDays?: number;
}

/** Options of every store. */
export interface StoreOptions {
  /** For how long things are kept. The database is cleaned by the instance that writes. */
  readonly retention?: StoreRetentionOptions;
  /**
   * Whether this instance may only read: it creates and writes nothing, so a role without rights to write will do.
   * Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Identifies the deployment whose tasks are kept. Instances that write under one name of a source must agree on it.
   * 1 to 200 characters. Default: host, port and database of a Celery broker; nothing for other sources. Set it if
   * instances reach one broker by different addresses.
   */
  readonly deployment?: string;
}

/** {@link StoreOptions}, every one set. */
export interface ResolvedStoreOptions {
  readonly retention: StoreRetention;
  readonly isReadOnly: boolean;
  readonly deployment: string | null;
}

/** A table of the keys, for the options of a store. */
export const STORE_KEYS = { retention: true, readOnly: true, deployment: true } as const;

const RETENTION_KEYS = { taskDays: true, rollupDays: true };

const DAYS = { least: 1, most: 3_650 };

/** What people write instead of an option, and what to write. */
const HINTS = {
  days: 'retention: { taskDays }',
  taskDays: 'retention: { taskDays }',
  rollupDays: 'retention: { rollupDays }',
  ttl: 'retention: { taskDays }',
  readonly: 'readOnly: true',
  tablePrefix: 'prefix',
  searchPath: 'schema',
};

/**
 * Checks the options that all stores have.
 *
 * @param caller the function that was called
 * @param known all keys that it takes
 * @throws TypeError that says what to write
 */
export function resolveStoreOptions(caller: string, options: unknown, known: object): ResolvedStoreOptions {
  if (!isRecord(options)) {
    throw wrongOption(caller, 'options', 'an object such as { retention: { taskDays: 7 } }', options);
  }
  refuseUnknownKeys(caller, options, known, '', HINTS);
  const { deployment } = options;
  if (
    deployment !== undefined &&
    (typeof deployment !== 'string' || deployment === '' || deployment.length > 200)
  ) {
    throw wrongOption(caller, 'deployment', "1 to 200 characters, such as 'shop-production'", deployment);
  }
  const retention = readGroup(caller, 'retention', options.retention, RETENTION_KEYS, '{ taskDays: 7 }');
  return {
    retention: {
      taskDays: readInteger(caller, 'retention.taskDays', retention.taskDays, { ...DAYS, fallback: 7 }),
      rollupDays: readInteger(caller, 'retention.rollupDays', retention.rollupDays, {
        ...DAYS,
        fallback: 90,
      }),
    },
    isReadOnly: readBoolean(caller, 'readOnly', options.readOnly, false),
    deployment: deployment ?? null,
  };
}
