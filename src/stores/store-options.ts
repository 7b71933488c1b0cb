/** Options that all stores have. */
import { flag, group, type OptionTable, type TableWords, text, wholeNumber } from '../check-options.ts';

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

const DAYS = { least: 1, most: 3_650 };

const RETENTION = {
  taskDays: wholeNumber({ ...DAYS, fallback: 7 }),
  rollupDays: wholeNumber({ ...DAYS, fallback: 90 }),
} satisfies OptionTable<StoreRetentionOptions>;

/** The options that all stores have. */
export const STORE_TABLE = {
  retention: group(RETENTION, { example: '{ taskDays: 7 }' }),
  readOnly: flag(false),
  deployment: text(
    ({ length }) => length > 0 && length <= 200,
    "1 to 200 characters, such as 'shop-production'",
    null,
  ),
} satisfies OptionTable<StoreOptions>;

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

/** What {@link readOptions} needs besides a table. */
export const STORE_WORDS: TableWords = { example: '{ retention: { taskDays: 7 } }', hints: HINTS };
